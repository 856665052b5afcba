import { describe, expect, spyOn, test } from "bun:test";

import { HttpClient } from "../../src/wire/http-client.ts";
import { waitFor } from "../support/wait.ts";
import { clientOf, codeOf, everythingArrived, exchange, HeldDials, post } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const answering = () => new TestServer((peer) => void peer.write(answerWith("ok")));
/** A port that was free a moment ago. */
function closedPort(): number {
  using server = answering();
  return server.port;
}

/** A request on the only connection there is, which the server has read and not answered. */
async function sendFirst(server: TestServer, waiting: readonly Peer[], sweepMs = 15_000) {
  const dials = new HeldDials();
  const client = clientOf(server, { dial: dials.dial, sweepMs });
  const first = post(client);
  dials.succeed(0);
  await waitFor(() => waiting.length === 1, "the first request");
  return { dials, client, first };
}

describe("a server that is not there", () => {
  test("a closed port refuses, and every request fails once", async () => {
    const client = clientOf({ port: closedPort() });
    const sent = Array.from({ length: 10 }, () => post(client));
    await Promise.all(sent.map(({ recorder }) => recorder.over));
    await everythingArrived();
    for (const { recorder } of sent) expect(recorder.events).toEqual(["failed ECONNREFUSED"]);
  });

  test("an unknown host name is not found", async () => {
    const client = new HttpClient({ hostname: "no-such-host.invalid", port: 80, isSecure: false });
    expect((await exchange(client)).events).toEqual(["failed ENOTFOUND"]);
  });

  test("the next request tries again, and succeeds once the server is there", async () => {
    const port = closedPort();
    const client = clientOf({ port });
    expect((await exchange(client)).events).toEqual(["failed ECONNREFUSED"]);
    const server = Bun.serve({ hostname: "127.0.0.1", port, fetch: () => new Response("ok") });
    const recorder = await exchange(client);
    await server.stop(true);
    expect(recorder.events).toEqual(["connected", "answered 200", "ended"]);
  });

  test("an address that no connection can be made to fails the request, and leaves nothing behind", async () => {
    const address = { hostname: "127.0.0.1", port: 70_000, isSecure: false };
    const client = new HttpClient(address);
    expect((await exchange(client)).events).toEqual(["failed ERR_OUT_OF_RANGE"]);
    expect((await exchange(client)).events).toEqual(["failed ERR_OUT_OF_RANGE"]);
  });
});

test("a name with several addresses is reached at the one that accepts", async () => {
  using server = answering();
  const client = new HttpClient({ hostname: "localhost", port: server.port, isSecure: false });
  expect((await exchange(client)).text).toBe("ok");
});

describe("requests that wait for connections", () => {
  test("each get one outcome: the oldest get the failures, the others a connection", async () => {
    using server = answering();
    const dials = new HeldDials();
    const client = clientOf(server, { dial: dials.dial });
    const sent = [post(client), post(client), post(client)];
    expect(sent.map(({ transfer }) => transfer.isConnected)).toEqual([false, false, false]);
    dials.fail(2, "ETIMEDOUT");
    expect(await sent[0]?.recorder.over).toBe("failed ETIMEDOUT");
    dials.succeed(0);
    expect(await sent[1]?.recorder.over).toBe("ended");
    dials.fail(1, "ECONNREFUSED");
    // The second may have finished by now, and the third may have used its connection.
    await sent[2]?.recorder.over;
    expect(sent.map(({ recorder }) => recorder.events)).toEqual([
      ["failed ETIMEDOUT"],
      ["connected", "answered 200", "ended"],
      ["connected", "answered 200", "ended"],
    ]);
  });

  test("take a connection that has become free; the one dialed for them is kept for the next", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const { dials, client, first } = await sendFirst(server, waiting);
    const second = post(client);
    await waiting[0]?.write(answerWith("one"));
    await waitFor(() => waiting.length === 2, "the second request");
    await waiting[1]?.write(answerWith("two"));
    await Promise.all([first.recorder.over, second.recorder.over]);
    expect([first.recorder.text, second.recorder.text]).toEqual(["one", "two"]);
    expect(server.peers).toHaveLength(1);
    dials.succeed(1);
    await waitFor(() => server.peers.length === 2, "the other connection");
    const sent = [post(client), post(client)];
    await waitFor(() => waiting.length === 4, "two requests at once");
    for (const peer of waiting.slice(2)) peer.write(answerWith("ok"));
    await Promise.all(sent.map(({ recorder }) => recorder.over));
    expect(dials.held).toHaveLength(2);
  });

  test("do not wait for a connection that was dialed for another request and never comes", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const { dials, client, first } = await sendFirst(server, waiting);
    const second = post(client);
    await waiting[0]?.write(answerWith("one"));
    await waitFor(() => waiting.length === 2, "the second request, on the same connection");
    const third = post(client);
    expect(dials.held).toHaveLength(3);
    dials.succeed(2);
    await waitFor(() => waiting.length === 3, "the third request, on its own connection");
    for (const peer of waiting.slice(1)) await peer.write(answerWith("ok"));
    const ends = [first, second, third].map(({ recorder }) => recorder.over);
    expect(await Promise.all(ends)).toEqual(["ended", "ended", "ended"]);
  });

  test("take whichever connection opens first, also one dialed for another request", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const { dials, client, first } = await sendFirst(server, waiting);
    const second = post(client);
    await waiting[0]?.write(answerWith("one"));
    await waitFor(() => waiting.length === 2, "the second request, on the same connection");
    const third = post(client, "{}", "another caller");
    dials.succeed(1);
    await waitFor(() => waiting.length === 3, "the third request, on the spare connection");
    for (const peer of waiting.slice(1)) await peer.write(answerWith("ok"));
    const ends = [first, second, third].map(({ recorder }) => recorder.over);
    expect(await Promise.all(ends)).toEqual(["ended", "ended", "ended"]);
    expect(server.peers).toHaveLength(2);
  });

  test("do not fail while another connection is being established for them", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const { dials, client, first } = await sendFirst(server, waiting);
    const [second, third] = [post(client), post(client)];
    await waiting[0]?.write(answerWith("one"));
    await waitFor(() => waiting.length === 2, "the second request, on the same connection");
    dials.fail(1, "ETIMEDOUT");
    await everythingArrived();
    expect(third.recorder.events).toEqual([]);
    dials.succeed(2);
    await waitFor(() => waiting.length === 3, "the third request");
    for (const peer of waiting.slice(1)) await peer.write(answerWith("ok"));
    const ends = [first, second, third].map(({ recorder }) => recorder.over);
    expect(await Promise.all(ends)).toEqual(["ended", "ended", "ended"]);
  });

  test("do not fail with a connection that they no longer need", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const { dials, client, first } = await sendFirst(server, waiting);
    const second = post(client);
    await waiting[0]?.write(answerWith("one"));
    await waitFor(() => waiting.length === 2, "the second request, on the same connection");
    dials.fail(1, "ETIMEDOUT");
    await waiting[1]?.write(answerWith("two"));
    expect(await Promise.all([first.recorder.over, second.recorder.over])).toEqual(["ended", "ended"]);
  });
});

describe("a request that is cancelled while its connection is being made", () => {
  test("gets no calls, and the server gets nothing", async () => {
    using server = answering();
    const client = clientOf(server);
    const { transfer, recorder } = post(client);
    transfer.cancel();
    transfer.cancel();
    await waitFor(() => server.peers[0]?.isGone === true, "the connection to be made, and dropped");
    await everythingArrived();
    expect(recorder.events).toEqual([]);
    expect(server.requests).toEqual([]);
    expect((await exchange(client)).text).toBe("ok");
    expect(server.requests).toHaveLength(1);
  });

  test("does not make the next one wait for a connection that never comes", async () => {
    using server = answering();
    const dials = new HeldDials();
    const client = clientOf(server, { dial: dials.dial });
    post(client).transfer.cancel();
    const { recorder } = post(client);
    expect(dials.held).toHaveLength(2);
    dials.succeed(1);
    expect(await recorder.over).toBe("ended");
  });

  test("takes its own attempt with it, and leaves those of the others", async () => {
    using server = answering();
    const dials = new HeldDials();
    const client = clientOf(server, { dial: dials.dial });
    const sent = [post(client), post(client), post(client)];
    sent[1]?.transfer.cancel();
    dials.succeed(1);
    await waitFor(() => server.peers[0]?.isGone === true, "the end of its connection");
    expect(sent.map(({ recorder }) => recorder.events)).toEqual([[], [], []]);
    dials.succeed(0);
    dials.succeed(2);
    await Promise.all([sent[0]?.recorder.over, sent[2]?.recorder.over]);
    const answered = ["connected", "answered 200", "ended"];
    expect(sent.map(({ recorder }) => recorder.events)).toEqual([answered, [], answered]);
    expect(server.requests).toHaveLength(2);
    expect(dials.held).toHaveLength(3);
  });

  test("during a handshake that the server never answers, the connection ends", async () => {
    const accepted = Promise.withResolvers<Peer>();
    using server = new TestServer(() => {}, { accepted: accepted.resolve });
    const client = new HttpClient({ hostname: "127.0.0.1", port: server.port, isSecure: true });
    const { transfer, recorder } = post(client);
    const peer = await accepted.promise;
    await waitFor(() => peer.receivedBytes > 0, "the client's hello");
    expect(transfer.isConnected).toBe(false);
    transfer.cancel();
    await peer.gone;
    expect(recorder.events).toEqual([]);
    post(client);
    await waitFor(() => server.peers.length === 2, "a connection of its own for the next request");
  });
});

test("a connection that no request needs any more is given up if its handshake does not end", async () => {
  const waiting: Peer[] = [];
  using server = new TestServer((peer) => void waiting.push(peer));
  const { dials, client } = await sendFirst(server, waiting, 10);
  post(client);
  const spare = dials.held[1]?.connection;
  if (spare === undefined) throw new Error("no connection was dialed for the second request");
  const dropped = spyOn(spare, "drop");
  await waiting[0]?.write(answerWith("one"));
  await waitFor(() => waiting.length === 2, "the second request, on the same connection");
  await waitFor(() => dropped.mock.calls.length > 0, "the other connection to be given up");
  dials.succeed(1);
  await waitFor(() => server.peers[1]?.isGone === true, "the late connection to be closed");
  expect(waiting).toHaveLength(2);
});

test("a server that closes during the handshake is reported as a lost connection", async () => {
  using server = new TestServer(() => {}, { accepted: (peer) => peer.end() });
  const client = new HttpClient({ hostname: "127.0.0.1", port: server.port, isSecure: true });
  const recorder = await exchange(client);
  expect(recorder.events).toHaveLength(1);
  expect(codeOf(recorder.cause)).toBe("ECONNRESET");
});
