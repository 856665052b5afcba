import { describe, expect, test } from "bun:test";
import { waitFor } from "../support/wait.ts";
import { clientOf, everythingArrived, exchange, post, Recorder } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

describe("a connection", () => {
  test("is reused, and `connected` is only called if it was established for the request", async () => {
    using server = new TestServer(
      (peer, { body }) => void peer.write(answerWith(`got ${Buffer.from(body)}`)),
    );
    const client = clientOf(server);
    const first = await exchange(client, "one");
    expect(first.events).toEqual(["connected", "answered 200", "ended"]);
    expect(first.text).toBe("got one");
    for (const word of ["two", "three"]) {
      const { transfer, recorder } = post(client, word);
      expect(transfer.isConnected).toBe(true);
      await recorder.over;
      expect(recorder.events).toEqual(["answered 200", "ended"]);
      expect(recorder.text).toBe(`got ${word}`);
    }
    expect(server.peers).toHaveLength(1);
    expect(server.requests).toHaveLength(3);
  });

  test("is free when `ended` is called, so that the next request can use it", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith("ok")));
    const client = clientOf(server);
    const second = Promise.withResolvers<Recorder>();
    const recorder = new Recorder();
    recorder.ended = () => second.resolve(post(client).recorder);
    client.send("POST / HTTP/1.1\r\nhost: test\r\n", "{}", recorder, "caller");
    await (await second.promise).over;
    expect(server.peers).toHaveLength(1);
    expect(server.requests).toHaveLength(2);
  });

  test("that was used last is used next", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const client = clientOf(server);
    const sent = [post(client), post(client), post(client)];
    await waitFor(() => waiting.length === 3, "three requests");
    const last = waiting[1];
    for (const peer of [waiting[0], waiting[2], last]) {
      const before = sent.filter(({ recorder }) => recorder.events.includes("ended")).length;
      await peer?.write(answerWith("ok"));
      await waitFor(
        () => sent.filter(({ recorder }) => recorder.events.includes("ended")).length > before,
        "an answer to arrive",
      );
    }
    post(client);
    await waitFor(() => waiting.length === 4, "the fourth request");
    expect(waiting[3]).toBe(last);
  });

  const spoiling: readonly (readonly [what: string, answer: (peer: Peer) => void])[] = [
    [
      "the server says that it closes it",
      (peer) => void peer.write(answerWith("ok", "connection: close\r\n")),
    ],
    [
      "the answer lasts until it ends",
      (peer) => {
        peer.write("HTTP/1.1 200 OK\r\n\r\nok");
        peer.end();
      },
    ],
    ["bytes have come behind the answer", (peer) => void peer.write(`${answerWith("ok")}surplus`)],
    [
      "bytes have come behind the last chunk",
      (peer) =>
        void peer.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1"),
    ],
    [
      "the server speaks HTTP/1.0",
      (peer) => void peer.write("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"),
    ],
  ];
  for (const [what, answer] of spoiling) {
    test(`is not used again when ${what}`, async () => {
      using server = new TestServer(answer);
      const client = clientOf(server);
      for (let count = 1; count <= 2; count++) {
        const recorder = await exchange(client);
        expect(recorder.events).toEqual(["connected", "answered 200", "ended"]);
        expect(recorder.text).toBe("ok");
      }
      await waitFor(() => server.peers.every((peer) => peer.isGone), "both connections to end");
      expect(server.peers).toHaveLength(2);
    });
  }

  test("is not used again when the answer came before the whole request was sent", async () => {
    using server = new TestServer(() => {}, {
      accepted(peer) {
        if (peer.number > 0) return;
        peer.pause();
        peer.write("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno");
      },
    });
    const client = clientOf(server);
    const recorder = await exchange(client, Buffer.alloc(32 * 1024 * 1024));
    expect(recorder.events).toEqual(["connected", "answered 413", "ended"]);
    expect(recorder.text).toBe("no");
    server.peer(0).resume();
    await server.peer(0).gone;
    expect(server.peer(0).requests).toHaveLength(0);
    const { transfer } = post(client);
    expect(transfer.isConnected).toBe(false);
    await waitFor(() => server.peers.length === 2, "a second connection");
  });

  test("is dropped when the server sends unsolicited bytes", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith("ok")));
    const client = clientOf(server);
    await exchange(client);
    await server.peer(0).write("HTTP/1.1 408 Request Timeout\r\n\r\n");
    await server.peer(0).gone;
    const recorder = await exchange(client);
    expect(recorder.events).toEqual(["connected", "answered 200", "ended"]);
  });

  test("that the server has closed while it was idle is not used", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith("ok")));
    const client = clientOf(server);
    await exchange(client);
    server.peer(0).end();
    await server.peer(0).gone;
    await everythingArrived();
    const recorder = await exchange(client);
    expect(recorder.events).toEqual(["connected", "answered 200", "ended"]);
    expect(server.peers).toHaveLength(2);
  });
});

describe("requests at the same time", () => {
  test("have a connection each, which serve again one by one", async () => {
    const waiting: Peer[] = [];
    using server = new TestServer((peer) => void waiting.push(peer));
    const client = clientOf(server);
    for (let round = 0; round < 2; round++) {
      const sent = Array.from({ length: 20 }, (_, index) => post(client, `request ${index}`));
      await waitFor(() => waiting.length === 20, "all requests");
      expect(new Set(waiting).size).toBe(20);
      for (const peer of waiting.splice(0)) {
        peer.write(answerWith(Buffer.from(peer.requests.at(-1)?.body ?? []).toString()));
      }
      for (const [index, { recorder }] of sent.entries()) {
        expect(await recorder.over).toBe("ended");
        expect(recorder.text).toBe(`request ${index}`);
      }
    }
    expect(server.peers).toHaveLength(20);
  });

  test("get their own answers, however these are cut and interleaved", async () => {
    using server = new TestServer(async (peer, { body }) => {
      const word = Buffer.from(body).toString();
      await peer.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      for (let count = 0; count < 10; count++) {
        await peer.write(`${word.length.toString(16)}\r\n${word.slice(0, 2)}`);
        await Bun.sleep(0);
        await peer.write(`${word.slice(2)}\r\n`);
      }
      await peer.write("0\r\n\r\n");
    });
    const client = clientOf(server);
    await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        for (let turn = 0; turn < 3; turn++) {
          const word = `<${index}/${turn}>`;
          const recorder = await exchange(client, word);
          expect(recorder.events.at(-1)).toBe("ended");
          expect(recorder.text).toBe(word.repeat(10));
        }
      }),
    );
    expect(server.peers.length).toBeLessThanOrEqual(30);
  });
});
