import { expect, test } from "bun:test";
import { HttpClient } from "../../src/wire/http-client.ts";
import { askAsProcess } from "./asking.ts";
import { exchange, post } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const soonMs = 5;

function sweepingClient({ port }: TestServer, sweepMs = soonMs): HttpClient {
  return new HttpClient({ hostname: "127.0.0.1", port, isSecure: false }, { sweepMs });
}

test("connections that are not used are closed after a while, and made anew when they are needed", async () => {
  using server = new TestServer((peer) => void peer.say(answerWith("ok")));
  const client = sweepingClient(server);
  for (let round = 0; round < 3; round++) {
    const sent = [post(client), post(client)];
    for (const { heard } of sent) expect(await heard.over).toBe("ended");
    await Promise.all(server.peers.map((peer) => peer.gone));
  }
  expect(server.peers.length).toBeGreaterThanOrEqual(3);
});

test("a connection that is used now and then stays", async () => {
  using server = new TestServer((peer) => void peer.say(answerWith("ok")));
  const client = sweepingClient(server, 25);
  for (let round = 0; round < 6; round++) {
    expect((await exchange(client)).text).toBe("ok");
    await Bun.sleep(30);
  }
  expect(server.peers).toHaveLength(1);
});

test("a connection with a request on it is not idle, however long that takes", async () => {
  const asked = Promise.withResolvers<Peer>();
  using server = new TestServer((peer) => {
    if (peer.requests.length === 1) peer.say(answerWith("ok"));
    else asked.resolve(peer);
  });
  const client = sweepingClient(server);
  await exchange(client);
  const { heard } = post(client);
  const peer = await asked.promise;
  // As long as it takes to close two others, one after the other, for being idle.
  for (const number of [1, 2]) {
    await exchange(client);
    await server.peer(number).gone;
  }
  expect(peer.isGone).toBe(false);
  await peer.say(answerWith("at last"));
  expect(await heard.over).toBe("ended");
  expect(heard.text).toBe("at last");
});

test("an idle connection does not keep a program from ending, one with a request on it does", async () => {
  using server = new TestServer(async (peer) => {
    await Bun.sleep(50);
    await peer.say(answerWith("ok"));
  });
  const told = await askAsProcess(`http://127.0.0.1:${server.port}/v1`, 2, {});
  expect(told).toEqual([
    { status: 200, text: "ok" },
    { status: 200, text: "ok" },
  ]);
  expect(server.peers).toHaveLength(1);
});
