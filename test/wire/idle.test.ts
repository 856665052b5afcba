import { expect, test } from "bun:test";
import { HttpClient } from "../../src/wire/http-client.ts";
import { exchange, post } from "./recorder.ts";
import { requestInProcess } from "./request-in-process.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const soonMs = 5;

function sweepingClient({ port }: TestServer, sweepMs = soonMs): HttpClient {
  return new HttpClient({ hostname: "127.0.0.1", port, isSecure: false }, { sweepMs });
}

test("unused connections are closed after a while, and new ones are opened when needed", async () => {
  using server = new TestServer((peer) => void peer.write(answerWith("ok")));
  const client = sweepingClient(server);
  for (let round = 0; round < 3; round++) {
    const sent = [post(client), post(client)];
    for (const { recorder } of sent) expect(await recorder.over).toBe("ended");
    await Promise.all(server.peers.map((peer) => peer.gone));
  }
  expect(server.peers.length).toBeGreaterThanOrEqual(3);
});

test("a connection that is used now and then stays", async () => {
  using server = new TestServer((peer) => void peer.write(answerWith("ok")));
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
    if (peer.requests.length === 1) peer.write(answerWith("ok"));
    else asked.resolve(peer);
  });
  const client = sweepingClient(server);
  await exchange(client);
  const { recorder } = post(client);
  const peer = await asked.promise;
  // As long as it takes to close two idle ones, one after the other.
  for (const number of [1, 2]) {
    await exchange(client);
    await server.peer(number).gone;
  }
  expect(peer.isGone).toBe(false);
  await peer.write(answerWith("at last"));
  expect(await recorder.over).toBe("ended");
  expect(recorder.text).toBe("at last");
});

test("an idle connection does not keep a process alive, one with a request does", async () => {
  using server = new TestServer(async (peer) => {
    await Bun.sleep(50);
    await peer.write(answerWith("ok"));
  });
  const answers = await requestInProcess(`http://127.0.0.1:${server.port}/v1`, 2, {});
  expect(answers).toEqual([
    { status: 200, text: "ok" },
    { status: 200, text: "ok" },
  ]);
  expect(server.peers).toHaveLength(1);
});
