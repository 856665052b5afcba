import { expect, spyOn, test } from "bun:test";
import { SocketWorld } from "./socket-world.ts";

test("the runtime is told to send pings, and to give up a peer that has answered none for two minutes", async () => {
  const serve = spyOn(Bun, "serve");
  try {
    const sockets = await SocketWorld.start();
    await using _ = sockets.world;
    const told = serve.mock.calls.flatMap(([options]) => options.websocket ?? []);
    expect(told.map(({ idleTimeout, sendPings = true }) => ({ idleTimeout, sendPings }))).toEqual([
      { idleTimeout: 120, sendPings: true },
    ]);
  } finally {
    serve.mockRestore();
  }
});
