import { expect, test } from "bun:test";
import { nextLoopIteration } from "../../../src/base/loop/pacer.ts";
import { models } from "../../gateway/turn-world.ts";
import type { Caller } from "../../gateway/world.ts";
import { emptyDatabase } from "../../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { waitFor } from "../../support/wait.ts";
import { connected, SocketWorld } from "./socket-world.ts";

/** Turns of the event loop: a request takes a few until it is asked, and the same again until it is charged. */
const stages = [0, 1, 2, 3, 5, 8, 13];

/** Closes a socket that has asked for a response, after so many turns. Returns what the exchange was charged. */
async function closedAfter(sockets: SocketWorld, caller: Caller, model: string, turns: number) {
  const { world } = sockets;
  sockets.turns.reset();
  world.observed.length = 0;
  const { socket } = connected(world, caller);
  socket.message(null, JSON.stringify({ type: "response.create", model, input: "Hi" }));
  for (let turn = 0; turn < turns; turn += 1) await nextLoopIteration();
  socket.close();
  await waitFor(() => world.observed.length > 0, "the exchange to end");
  await world.settled();
  const { gateway } = world;
  expect([gateway.bodies.takenBytes, gateway.answers.takenBytes]).toEqual([0, 0]);
  expect(gateway.sockets.countOf(caller.key.id)).toBe(0);
  expect(world.observed).toHaveLength(1);
  return world.observed.reduce((sum, { charged }) => sum + charged, 0);
}

async function closeInEachStage(store: string): Promise<void> {
  const sockets = await SocketWorld.start(store);
  await using world = sockets.world;
  for (const model of models) {
    const caller = await world.creditCaller();
    let charged = 0;
    for (const turns of stages) charged += await closedAfter(sockets, caller, model, turns);
    const charges = await world.chargesOf(caller);
    expect(charges.reduce((sum, { amount }) => sum - amount, 0)).toBe(charged);
  }
  expect(await world.running.store.auditSums()).toEqual([]);
}

const what =
  "a socket that is closed in any stage gives back all it has taken, and is charged what is on record";

test(`${what}, on SQLite`, () => closeInEachStage(""), 60_000);

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test(`${what}, on PostgreSQL`, async () => {
    await using database = await emptyDatabase();
    await closeInEachStage(`[store]\nurl = "${database.url}"\n`);
  }, 60_000);
