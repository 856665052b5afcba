import { afterAll, beforeAll, expect, test } from "bun:test";
import { say } from "../../gateway/turn-world.ts";
import { waitFor } from "../../support/wait.ts";
import { SocketWorld } from "./socket-world.ts";

let sockets: SocketWorld;
beforeAll(async () => {
  sockets = await SocketWorld.start();
  await sockets.world.gateway.tokens.of("key").text(["Hello"]);
});
afterAll(() => sockets.world[Symbol.asyncDispose]());

test("a response whose socket closes before any output is free once, and then costs its counted input", async () => {
  const { world } = sockets;
  const caller = await world.tokenCaller(1_000_000);
  const { release } = sockets.halt();
  const abandon = async () => {
    const asked = world.provider.requests.length;
    const socket = await sockets.open(caller);
    socket.create({ model: "gpt-test", input: [say("word ".repeat(20_000))] });
    await waitFor(() => world.provider.requests.length > asked, "the provider to be called");
    await waitFor(() => socket.frames.length > 0, "the first event");
    socket[Symbol.dispose]();
    await socket.closed;
    await world.settled();
  };
  await abandon();
  expect(await world.chargesOf(caller)).toEqual([]);
  await abandon();
  const charges = await world.chargesOf(caller);
  expect(charges).toMatchObject([{ outcome: "cancelled", basis: "estimated" }]);
  expect(-(charges[0]?.amount ?? 0)).toBeWithin(20_000, 20_050);
  release();
}, 30_000);
