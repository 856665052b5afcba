import { afterAll, beforeAll, describe, expect, type Mock, spyOn, test } from "bun:test";
import { type Dial, dialByBun } from "../../src/wire/http-client.ts";
import type { WireRequest } from "../support/http-bytes.ts";
import { waitFor } from "../support/wait.ts";
import { CountedDials, clientOf, everythingArrived, exchange, post } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const chunkedHead = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

describe("a connection that is lost", () => {
  const ends: readonly (readonly [how: string, end: (peer: Peer) => void])[] = [
    ["closes", (peer) => peer.end()],
    ["resets", (peer) => peer.reset()],
  ];
  const places: readonly (readonly [where: string, sent: string, events: readonly string[]])[] = [
    ["before the head", "", []],
    ["within the head", "HTTP/1.1 200 OK\r\ncontent-ty", []],
    ["after an interim answer", "HTTP/1.1 103 Early Hints\r\n\r\n", []],
    ["before the body", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", ["answered 200"]],
    ["within a body with a length", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel", ["answered 200"]],
    ["within a chunk", `${chunkedHead}5\r\nhel`, ["answered 200"]],
    ["between chunks", `${chunkedHead}5\r\nhello\r\n`, ["answered 200"]],
    ["within the last chunk", `${chunkedHead}5\r\nhello\r\n0\r\n`, ["answered 200"]],
  ];
  for (const [how, end] of ends) {
    for (const [where, said, events] of places) {
      test(`the server ${how} ${where}: the request fails, and is not resent`, async () => {
        using server = new TestServer(async (peer) => {
          await peer.write(said);
          await everythingArrived();
          end(peer);
        });
        const dials = new CountedDials();
        const recorder = await exchange(clientOf(server, { dial: dials.dial }));
        expect(recorder.events).toEqual(["connected", ...events, "failed ECONNRESET"]);
        expect(dials.count).toBe(1);
        expect(server.requests).toHaveLength(1);
      });
    }
  }

  test("an answer that lasts until the end ends well when the server closes", async () => {
    using server = new TestServer(async (peer) => {
      await peer.write("HTTP/1.1 200 OK\r\n\r\nhello");
      peer.end();
    });
    const recorder = await exchange(clientOf(server));
    expect(recorder.events).toEqual(["connected", "answered 200", "ended"]);
    expect(recorder.text).toBe("hello");
  });

  test("and fails when the server resets: something may be missing", async () => {
    using server = new TestServer(async (peer) => {
      await peer.write("HTTP/1.1 200 OK\r\n\r\nhello");
      await everythingArrived();
      peer.reset();
    });
    const recorder = await exchange(clientOf(server));
    expect(recorder.events).toEqual(["connected", "answered 200", "failed ECONNRESET"]);
  });

  test("an answer that is not HTTP fails the request and ends the connection", async () => {
    using server = new TestServer((peer) => void peer.write("SSH-2.0-OpenSSH_9.6\r\n\r\n"));
    const recorder = await exchange(clientOf(server));
    expect(recorder.events).toEqual(["connected", "failed EPROTO"]);
    await server.peer(0).gone;
  });
});

const ends: readonly (readonly [how: string, end: (peer: Peer) => void])[] = [
  ["closes", (peer) => peer.end()],
  ["resets", (peer) => peer.reset()],
];

/** Answers each request with its body. */
const echo = (peer: Peer, { body }: WireRequest) => void peer.write(answerWith(`got ${Buffer.from(body)}`));

describe("a kept connection that was closed before the next request was written", () => {
  // A request is resent only within a moment of its writing, and a busy machine may take longer than that.
  let clock: Mock<() => number>;
  beforeAll(() => {
    clock = spyOn(performance, "now").mockReturnValue(performance.now());
  });
  afterAll(() => clock.mockRestore());

  for (const [how, end] of ends) {
    test(`the server ${how} it: the request is resent, once, on a new one`, async () => {
      using server = new TestServer(echo);
      const client = clientOf(server);
      await exchange(client, "one");
      // The close is in flight, and the client cannot have seen it.
      end(server.peer(0));
      const recorder = await exchange(client, "two");
      expect(recorder.events).toEqual(["connected", "answered 200", "ended"]);
      expect(recorder.text).toBe("got two");
      expect(server.peers.map((peer) => peer.requests.length)).toEqual([1, 1]);
    });

    test(`the server ${how} it and the new one as well: the request fails, and is not resent again`, async () => {
      using server = new TestServer((peer, request) => {
        if (peer.number === 0) echo(peer, request);
        else end(peer);
      });
      const dials = new CountedDials();
      const client = clientOf(server, { dial: dials.dial });
      await exchange(client);
      end(server.peer(0));
      expect((await exchange(client)).events).toEqual(["connected", "failed ECONNRESET"]);
      expect(dials.count).toBe(2);
      expect(server.requests).toHaveLength(2);
    });
  }

  test("is not replaced by another kept one, which may be just as stale", async () => {
    const released = Promise.withResolvers<void>();
    let dials = 0;
    // The third and later connections open slowly, so that a kept one becomes free before.
    const dial: Dial = async (address, connection) => {
      dials += 1;
      if (dials >= 3) await released.promise;
      return dialByBun(address, connection);
    };
    const held: Peer[] = [];
    using server = new TestServer((peer) => void held.push(peer));
    const client = clientOf(server, { dial });
    const warm = [post(client), post(client)];
    await waitFor(() => held.length === 2, "two connections");
    for (const peer of held.splice(0)) await peer.write(answerWith("ok"));
    await Promise.all(warm.map(({ recorder }) => recorder.over));

    const busy = post(client);
    await waitFor(() => held.length === 1, "a request on one of them");
    server.peers.find((peer) => peer !== held[0])?.reset();
    const unlucky = post(client);
    await waitFor(() => dials === 3, "the other to be lost");
    const patient = post(client);
    await held[0]?.write(answerWith("ok"));
    await busy.recorder.over;
    await waitFor(() => held.length === 2, "the next request, which may have the connection");
    await held[1]?.write(answerWith("ok"));
    await patient.recorder.over;
    expect(unlucky.recorder.events).toEqual([]);
    released.resolve();
    await waitFor(() => held.length === 3, "the request that waits for a new one");
    await held[2]?.write(answerWith("survived"));
    expect(await unlucky.recorder.over).toBe("ended");
    expect(unlucky.recorder.text).toBe("survived");
  });

  test("a request that is cancelled before the resend is not resent", async () => {
    const released = Promise.withResolvers<void>();
    let dials = 0;
    const dial: Dial = async (address, connection) => {
      dials += 1;
      if (dials === 2) await released.promise;
      return dialByBun(address, connection);
    };
    using server = new TestServer(echo);
    const client = clientOf(server, { dial });
    await exchange(client);
    server.peer(0).reset();
    const { transfer, recorder } = post(client);
    expect(transfer.isConnected).toBe(true);
    await waitFor(() => dials === 2, "the second connection");
    expect(transfer.isConnected).toBe(false);
    transfer.cancel();
    released.resolve();
    await waitFor(
      () => server.peers.length === 2 && server.peer(1).isGone,
      "the second connection to be dropped",
    );
    expect(recorder.events).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  test("many at once are each resent, and each is answered", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer, request) => {
      if (peer.number < 20) waiting.push(peer);
      else echo(peer, request);
    });
    const client = clientOf(server);
    const before = Array.from({ length: 20 }, () => post(client));
    await waitFor(() => waiting.length === 20, "twenty connections");
    for (const peer of waiting) peer.write(answerWith("ok"));
    await Promise.all(before.map(({ recorder }) => recorder.over));
    for (const [index, peer] of server.peers.entries()) index % 2 === 0 ? peer.end() : peer.reset();
    const after = Array.from({ length: 20 }, (_, index) => post(client, `request ${index}`));
    for (const [index, { recorder }] of after.entries()) {
      expect(await recorder.over).toBe("ended");
      expect(recorder.text).toBe(`got request ${index}`);
    }
    expect(server.requests).toHaveLength(40);
  });
});

describe("a kept connection that is lost after the server has read the request, which it may have begun to work on", () => {
  for (const [how, end] of ends) {
    for (const afterMs of [0, 1, 10, 100, 300, 900]) {
      test(`the server ${how} it after ${afterMs} ms: the request fails, and is not resent`, async () => {
        using server = new TestServer((peer, request) => {
          if (peer.requests.length === 1) echo(peer, request);
          else if (afterMs === 0) end(peer);
          else setTimeout(() => end(peer), afterMs);
        });
        const dials = new CountedDials();
        const client = clientOf(server, { dial: dials.dial });
        await exchange(client);
        expect((await exchange(client)).events).toEqual(["failed ECONNRESET"]);
        expect(dials.count).toBe(1);
        expect(server.requests).toHaveLength(2);
      });
    }

    test(`the server ${how} it within a long request: nor is that`, async () => {
      using server = new TestServer(echo);
      const dials = new CountedDials();
      const client = clientOf(server, { dial: dials.dial });
      await exchange(client);
      const peer = server.peer(0);
      const readBefore = peer.receivedBytes;
      const { recorder } = post(client, Buffer.alloc(32 * 1024 * 1024));
      await waitFor(() => peer.receivedBytes > readBefore, "some of the request");
      end(peer);
      expect(await recorder.over).toMatch(/^failed /);
      expect(dials.count).toBe(1);
    });

    test(`the server ${how} it after the first byte of an answer: nor is that`, async () => {
      using server = new TestServer(async (peer, request) => {
        if (peer.requests.length === 1) return echo(peer, request);
        await peer.write("H");
        setTimeout(() => end(peer), 10);
      });
      const dials = new CountedDials();
      const client = clientOf(server, { dial: dials.dial });
      await exchange(client);
      expect((await exchange(client)).events).toEqual(["failed ECONNRESET"]);
      expect(dials.count).toBe(1);
    });

    test(`the server ${how} each a moment after its answer: no request is read twice, and what is answered is right`, async () => {
      using server = new TestServer((peer, request) => {
        echo(peer, request);
        setTimeout(() => end(peer), 0);
      });
      const client = clientOf(server);
      for (let number = 0; number < 100; number++) {
        const recorder = await exchange(client, String(number));
        expect(recorder.text).toBe(recorder.events.at(-1) === "ended" ? `got ${number}` : "");
      }
      const bodies = server.requests.map(({ body }) => Buffer.from(body).toString());
      expect(new Set(bodies).size).toBe(bodies.length);
    });
  }

  test("the server closes only its own side before the request is written, and reads on: nor is that", async () => {
    using server = new TestServer(echo);
    const dials = new CountedDials();
    const client = clientOf(server, { dial: dials.dial });
    await exchange(client);
    server.peer(0).halfClose();
    expect((await exchange(client)).events).toEqual(["failed ECONNRESET"]);
    expect(dials.count).toBe(1);
    await waitFor(() => server.requests.length === 2, "the server to read the request");
  });
});
