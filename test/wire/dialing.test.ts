import { describe, expect, test } from "bun:test";

import { HttpClient } from "../../src/wire/http-client.ts";
import { waitFor } from "../support/wait.ts";
import { clientOf, codeOf, everythingArrived, exchange, HeldDials, post } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const answering = () => new TestServer((peer) => void peer.say(answerWith("ok")));
/** A port that was free a moment ago. */
function closedPort(): number {
  using server = answering();
  return server.port;
}

/** A request on the only connection there is, which the server has read and not answered. */
async function sendFirst(server: TestServer, waiting: readonly Peer[]) {
  const dials = new HeldDials();
  const client = clientOf(server, { dial: dials.dial });
  const first = post(client);
  dials.succeed(0);
  await waitFor(() => waiting.length === 1, "the first request");
  return { dials, client, first };
}

describe("a server that is not there", () => {
  test("a closed port refuses, and every request is told so once", async () => {
    const client = clientOf({ port: closedPort() });
    const sent = Array.from({ length: 10 }, () => post(client));
    await Promise.all(sent.map(({ heard }) => heard.over));
    await everythingArrived();
    for (const { heard } of sent) expect(heard.events).toEqual(["failed ECONNREFUSED"]);
  });

  test("a name that nobody has is not found", async () => {
    const client = new HttpClient({ hostname: "no-such-host.invalid", port: 80, isSecure: false });
    expect((await exchange(client)).events).toEqual(["failed ENOTFOUND"]);
  });

  test("it is asked again by the next request, and found once it is there", async () => {
    const port = closedPort();
    const client = clientOf({ port });
    expect((await exchange(client)).events).toEqual(["failed ECONNREFUSED"]);
    const server = Bun.serve({ hostname: "127.0.0.1", port, fetch: () => new Response("ok") });
    const heard = await exchange(client);
    await server.stop(true);
    expect(heard.events).toEqual(["connected", "answered 200", "ended"]);
  });

  test("an address that no connection can be made to fails the request, and leaves nothing behind", async () => {
    const address = { hostname: "127.0.0.1", port: 70_000, isSecure: false };
    const client = new HttpClient(address);
    expect((await exchange(client)).events).toEqual(["failed ERR_OUT_OF_RANGE"]);
    expect((await exchange(client)).events).toEqual(["failed ERR_OUT_OF_RANGE"]);
  });
});

test("a name that stands for several addresses is reached where somebody listens", async () => {
  using server = answering();
  const client = new HttpClient({ hostname: "localhost", port: server.port, isSecure: false });
  expect((await exchange(client)).text).toBe("ok");
});

describe("requests that wait for connections", () => {
  test("are each told once: those who have waited longest of failures, the others of a connection", async () => {
    using server = answering();
    const dials = new HeldDials();
    const client = clientOf(server, { dial: dials.dial });
    const sent = [post(client), post(client), post(client)];
    expect(sent.map(({ transfer }) => transfer.isConnected)).toEqual([false, false, false]);
    dials.fail(2, "ETIMEDOUT");
    expect(await sent[0]?.heard.over).toBe("failed ETIMEDOUT");
    dials.succeed(0);
    expect(await sent[1]?.heard.over).toBe("ended");
    dials.fail(1, "ECONNREFUSED");
    // The second is done with its connection by now, so the third may have been served there.
    await sent[2]?.heard.over;
    expect(sent.map(({ heard }) => heard.events)).toEqual([
      ["failed ETIMEDOUT"],
      ["connected", "answered 200", "ended"],
      ["connected", "answered 200", "ended"],
    ]);
  });

  test("take a connection that has become free; the one made for them is kept for the next", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const { dials, client, first } = await sendFirst(server, waiting);
    const second = post(client);
    await waiting[0]?.say(answerWith("one"));
    await waitFor(() => waiting.length === 2, "the second request");
    await waiting[1]?.say(answerWith("two"));
    await Promise.all([first.heard.over, second.heard.over]);
    expect([first.heard.text, second.heard.text]).toEqual(["one", "two"]);
    expect(server.peers).toHaveLength(1);
    dials.succeed(1);
    await waitFor(() => server.peers.length === 2, "the other connection");
    const sent = [post(client), post(client)];
    await waitFor(() => waiting.length === 4, "two requests at once");
    for (const peer of waiting.slice(2)) peer.say(answerWith("ok"));
    await Promise.all(sent.map(({ heard }) => heard.over));
    expect(dials.held).toHaveLength(2);
  });

  test("are told nothing of a failed attempt while there is another for them", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const { dials, client, first } = await sendFirst(server, waiting);
    const [second, third] = [post(client), post(client)];
    await waiting[0]?.say(answerWith("one"));
    await waitFor(() => waiting.length === 2, "the second request, on the same connection");
    dials.fail(1, "ETIMEDOUT");
    await everythingArrived();
    expect(third.heard.events).toEqual([]);
    dials.succeed(2);
    await waitFor(() => waiting.length === 3, "the third request");
    for (const peer of waiting.slice(1)) await peer.say(answerWith("ok"));
    const ends = [first, second, third].map(({ heard }) => heard.over);
    expect(await Promise.all(ends)).toEqual(["ended", "ended", "ended"]);
  });

  test("are told nothing of a failed attempt that they no longer need", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const { dials, client, first } = await sendFirst(server, waiting);
    const second = post(client);
    await waiting[0]?.say(answerWith("one"));
    await waitFor(() => waiting.length === 2, "the second request, on the same connection");
    dials.fail(1, "ETIMEDOUT");
    await waiting[1]?.say(answerWith("two"));
    expect(await Promise.all([first.heard.over, second.heard.over])).toEqual(["ended", "ended"]);
  });
});

describe("a request that is cancelled while its connection is being made", () => {
  test("hears nothing, and the server gets nothing", async () => {
    using server = answering();
    const client = clientOf(server);
    const { transfer, heard } = post(client);
    transfer.cancel();
    transfer.cancel();
    await waitFor(() => server.peers[0]?.isGone === true, "the connection to be made, and dropped");
    await everythingArrived();
    expect(heard.events).toEqual([]);
    expect(server.requests).toEqual([]);
    expect((await exchange(client)).text).toBe("ok");
    expect(server.requests).toHaveLength(1);
  });

  test("does not make the next one wait for a connection that never comes", async () => {
    using server = answering();
    const dials = new HeldDials();
    const client = clientOf(server, { dial: dials.dial });
    post(client).transfer.cancel();
    const { heard } = post(client);
    expect(dials.held).toHaveLength(2);
    dials.succeed(1);
    expect(await heard.over).toBe("ended");
  });

  test("takes its own attempt with it, and leaves those of the others", async () => {
    using server = answering();
    const dials = new HeldDials();
    const client = clientOf(server, { dial: dials.dial });
    const sent = [post(client), post(client), post(client)];
    sent[1]?.transfer.cancel();
    dials.succeed(1);
    await waitFor(() => server.peers[0]?.isGone === true, "the end of its connection");
    expect(sent.map(({ heard }) => heard.events)).toEqual([[], [], []]);
    dials.succeed(0);
    dials.succeed(2);
    await Promise.all([sent[0]?.heard.over, sent[2]?.heard.over]);
    const answered = ["connected", "answered 200", "ended"];
    expect(sent.map(({ heard }) => heard.events)).toEqual([answered, [], answered]);
    expect(server.requests).toHaveLength(2);
    expect(dials.held).toHaveLength(3);
  });

  test("during a handshake that the server never answers, the connection ends", async () => {
    const accepted = Promise.withResolvers<Peer>();
    using server = new TestServer(() => {}, { accepted: accepted.resolve });
    const client = new HttpClient({ hostname: "127.0.0.1", port: server.port, isSecure: true });
    const { transfer, heard } = post(client);
    const peer = await accepted.promise;
    await waitFor(() => peer.receivedBytes > 0, "the client's hello");
    expect(transfer.isConnected).toBe(false);
    transfer.cancel();
    await peer.gone;
    expect(heard.events).toEqual([]);
    post(client);
    await waitFor(() => server.peers.length === 2, "a connection of its own for the next request");
  });
});

test("a server that ends the connection during the handshake is told as a lost connection", async () => {
  using server = new TestServer(() => {}, { accepted: (peer) => peer.end() });
  const client = new HttpClient({ hostname: "127.0.0.1", port: server.port, isSecure: true });
  const heard = await exchange(client);
  expect(heard.events).toHaveLength(1);
  expect(codeOf(heard.cause)).toBe("ECONNRESET");
});
