import { expect, test } from "bun:test";
import type { HoldOrder } from "../../../../src/store/node.ts";
import { sqlStateOf } from "../../../../src/store/postgres/errors.ts";
import { failureOf } from "../../../../src/store/postgres/lanes/failure.ts";
import { endOf, releaseOf } from "../../../../src/store/postgres/lanes/hold-end.ts";
import {
  type MoneyConnection,
  type MoneyItem,
  type MoneyResponse,
  sendMoney,
} from "../../../../src/store/postgres/lanes/money-batch.ts";
import { SeededRandom } from "../../../simulation/random.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { attempt } from "../../attempts.ts";
import { clientOf, connectionOf } from "../fixtures.ts";
import { unbalanced } from "../node/node-load.ts";
import { chargeOrder, holdOrder, NodeWorld } from "../node/world.ts";

const lanes = 6;
const batchesPerLane = 60;
const keys = 8;
/** Above PostgreSQL's `deadlock_timeout` of a second: with less, a deadlock would only look like a lock that takes long. */
const lockMs = 20_000;

/** One lane that sends random batches about accounts that all lanes use, each as often as it takes. */
async function sendRandomBatches(
  { connection, node, keyIds }: { connection: MoneyConnection; node: number; keyIds: readonly string[] },
  random: SeededRandom,
): Promise<string[]> {
  const open: HoldOrder[] = [];
  const states: string[] = [];
  const send = async (sequence: number, items: readonly MoneyItem[]): Promise<readonly MoneyResponse[]> => {
    for (;;) {
      try {
        return await sendMoney(connection, [node, 1, sequence], items, lockMs);
      } catch (error) {
        if (failureOf(error) !== "unreachable") throw error;
        states.push(sqlStateOf(error));
      }
    }
  };
  for (let sequence = 1; sequence <= batchesPerLane; sequence += 1) {
    const orders = Array.from({ length: random.between(1, 6) }, () =>
      holdOrder(random.pick(keyIds) ?? "", random.between(1, 90)),
    );
    const ended = open.splice(0, random.between(0, open.length));
    const ends = ended.map((order) =>
      random.chance(0.2)
        ? releaseOf(order.holdId, order.keyId)
        : endOf(chargeOrder(order, random.between(0, 120), { attempts: [attempt()] })),
    );
    const answers = await send(sequence, [
      ...orders.map((order) => ({ kind: "hold", order }) as const),
      ...ends.map((end) => ({ kind: "end", end }) as const),
    ]);
    for (const [index, order] of orders.entries()) {
      const answer = answers[index];
      if (answer !== undefined && "decision" in answer && answer.decision === "held") open.push(order);
    }
  }
  const rest = open.map(({ holdId, keyId }) => ({ kind: "end", end: releaseOf(holdId, keyId) }) as const);
  await send(batchesPerLane + 1, rest);
  return states;
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test("batches of many lanes about the same accounts, keys and caps never wait for each other in a circle", async () => {
    await using world = await NodeWorld.create();
    const keyIds: string[] = [];
    // One after another, so that keys and accounts are numbered alike.
    for (let index = 0; index < keys; index += 1) keyIds.push(await world.addKey(3_000));
    // Every other key draws on the account of the one before it.
    await world.client.query("UPDATE keys SET account_no = account_no - 1 WHERE no % 2 = 0");
    await world.client.query("INSERT INTO caps (key_no, amount, period) SELECT no, 2000, 'week' FROM keys");
    await world.client.query(
      "INSERT INTO caps (account_no, amount, period) SELECT no, 4000, 'day' FROM accounts",
    );
    const states = await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        const client = clientOf(world.database.url, { max: 1 });
        const [joined] = await client.query<{ no: number }>(
          "SELECT sluice_join('test', '1', 3600000, 1) AS no",
        );
        const parts = { connection: connectionOf(client), node: joined?.no ?? 0, keyIds };
        const seen = await sendRandomBatches(parts, new SeededRandom(lane + 1));
        await client.close();
        return seen;
      }),
    );
    expect(states.flat().filter((state) => state === "40P01")).toEqual([]);
    expect(await unbalanced(world.client)).toEqual([]);
    expect(await world.leftovers()).toMatchObject({ holds: 0, held: 0 });
    const caps = await world.client.query("SELECT no FROM caps WHERE held <> 0 OR used > amount");
    expect(caps).toEqual([]);
  }, 120_000);
