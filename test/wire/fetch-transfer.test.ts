import { describe, expect, test } from "bun:test";
import { FetchTransfer } from "../../src/wire/fetch-transfer.ts";
import { waitFor } from "../support/wait.ts";
import { everythingArrived, Recorder } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

/** By a real `fetch`, as servers behind a proxy are asked. */
function ask({ port }: TestServer) {
  const heard = new Recorder();
  const init = { method: "POST", body: "{}", decompress: false } as const;
  const transfer = new FetchTransfer(
    (signal) => fetch(`http://127.0.0.1:${port}/`, { ...init, signal }),
    heard,
  );
  return { heard, transfer };
}

/** A body that says a piece each time it is asked, and tells when it was cancelled. */
function endlessBody() {
  const body = { pulls: 0, isPulling: false, isCancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        body.pulls += 1;
        body.isPulling = true;
        await Bun.sleep(1);
        body.isPulling = false;
        controller.enqueue(Buffer.from("piece"));
      },
      cancel() {
        body.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return Object.assign(body, { stream });
}

describe("a transfer by fetch", () => {
  test("tells head, body and end", async () => {
    using server = new TestServer((peer) => void peer.say(answerWith("hello", "x-name: value\r\n")));
    const { heard, transfer } = ask(server);
    expect(transfer.isConnected).toBe(true);
    const values: (string | null)[] = [];
    heard.onHead = (head) => void values.push(head.get("x-name"), head.get("x-other"));
    expect(heard.events).toEqual([]);
    expect(await heard.over).toBe("ended");
    expect(heard.events).toEqual(["answered 200", "ended"]);
    expect(heard.text).toBe("hello");
    expect(values).toEqual(["value", null]);
  });

  test("tells an answer without a body, and one that is a refusal", async () => {
    using server = new TestServer((peer) => void peer.say("HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n"));
    const { heard } = ask(server);
    await heard.over;
    expect(heard.events).toEqual(["answered 503", "ended"]);
  });

  test("tells a body that breaks off as a failure", async () => {
    const said = Promise.withResolvers<void>();
    using server = new TestServer(async (peer) => {
      await peer.say("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello");
      await said.promise;
      peer.reset();
    });
    const { heard } = ask(server);
    heard.onPiece = () => said.resolve();
    await heard.over;
    expect(heard.events).toEqual(["answered 200", "failed ECONNRESET"]);
    expect(heard.text).toBe("hello");
  });

  test("tells a question that fails, also one that fails at once", async () => {
    for (const ask of [
      () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" })),
      () => {
        throw Object.assign(new Error("no"), { code: "ENOTFOUND" });
      },
    ]) {
      const heard = new Recorder();
      new FetchTransfer(ask, heard);
      expect(heard.events).toEqual([]);
      await heard.over;
      expect(heard.events).toEqual(["failed ENOTFOUND"]);
    }
  });
});

describe("a question that fails", () => {
  async function askFailing(code: string) {
    const heard = new Recorder();
    let asked = 0;
    const transfer = new FetchTransfer(async () => {
      asked += 1;
      throw Object.assign(new Error("no"), { code });
    }, heard);
    const isConnected: boolean[] = [];
    const { failed } = heard;
    heard.failed = (cause) => {
      isConnected.push(transfer.isConnected);
      failed.call(heard, cause);
    };
    await heard.over;
    return { events: heard.events, asked, isConnected };
  }

  test("by a lost connection is not asked again: nobody knows whether the server has read it", async () => {
    const told = await askFailing("ECONNRESET");
    expect(told).toEqual({ events: ["failed ECONNRESET"], asked: 1, isConnected: [true] });
  });

  for (const code of ["ENOTFOUND", "ECONNREFUSED", "ERR_PROXY_TUNNEL"]) {
    test(`by ${code} was never sent`, async () => {
      expect(await askFailing(code)).toEqual({ events: [`failed ${code}`], asked: 1, isConnected: [false] });
    });
  }

  test("by what is not HTTP has been answered, as over a connection of our own", async () => {
    using server = new TestServer((peer) => void peer.say("HTTP/1.1 nonsense\r\n\r\n"));
    const { heard } = ask(server);
    expect(await heard.over).toBe("failed EPROTO");
    expect(server.requests).toHaveLength(1);
  });
});

describe("pausing a transfer by fetch", () => {
  test("stops a body that goes on as long as it is asked", async () => {
    const body = endlessBody();
    const heard = new Recorder();
    const transfer = new FetchTransfer(async () => new Response(body.stream), heard);
    await waitFor(() => heard.pieces.length > 3, "some pieces");
    transfer.pause();
    transfer.pause();
    await waitFor(() => !body.isPulling, "the last piece that was asked for");
    await everythingArrived();
    const { pulls } = body;
    const { receivedBytes } = heard;
    for (let round = 0; round < 10; round++) await everythingArrived();
    expect(body.pulls).toBe(pulls);
    expect(heard.receivedBytes).toBe(receivedBytes);
    transfer.resume();
    await waitFor(() => heard.receivedBytes > receivedBytes, "more pieces");
    transfer.cancel();
  });

  test("by a real server: every byte arrives in order", async () => {
    const whole = Buffer.alloc(4 * 1024 * 1024, "0123456789;");
    using server = new TestServer(async (peer) => {
      await peer.say(`HTTP/1.1 200 OK\r\ncontent-length: ${whole.length}\r\n\r\n`);
      await peer.say(whole);
    });
    const { heard, transfer } = ask(server);
    heard.onPiece = () => {
      transfer.pause();
      setTimeout(() => transfer.resume(), 0);
    };
    expect(await heard.over).toBe("ended");
    expect(heard.bytes.equals(whole)).toBe(true);
  });
});

describe("cancelling a transfer by fetch", () => {
  async function expectEnd(peer: Peer, heard: Recorder, events: readonly string[]): Promise<void> {
    await peer.gone;
    await everythingArrived();
    expect(heard.events).toEqual([...events]);
  }

  test("before the head: the server sees the end, the receiver hears nothing", async () => {
    using server = new TestServer(() => {});
    const { heard, transfer } = ask(server);
    await waitFor(() => server.requests.length === 1, "the request");
    transfer.cancel();
    transfer.cancel();
    await expectEnd(server.peer(0), heard, []);
  });

  test("within the body", async () => {
    using server = new TestServer(
      (peer) => void peer.say("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"),
    );
    const { heard, transfer } = ask(server);
    await waitFor(() => heard.receivedBytes === 5, "some of the body");
    transfer.cancel();
    await expectEnd(server.peer(0), heard, ["answered 200"]);
  });

  test("while it is paused", async () => {
    using server = new TestServer(
      (peer) => void peer.say("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"),
    );
    const { heard, transfer } = ask(server);
    heard.onPiece = () => transfer.pause();
    await waitFor(() => heard.receivedBytes === 5, "some of the body");
    transfer.cancel();
    await expectEnd(server.peer(0), heard, ["answered 200"]);
  });

  test("lets go of a body that nobody else ends", async () => {
    const body = endlessBody();
    const heard = new Recorder();
    const transfer = new FetchTransfer(async () => new Response(body.stream), heard);
    await waitFor(() => heard.pieces.length > 3, "some pieces");
    transfer.cancel();
    await waitFor(() => body.isCancelled, "the body to be cancelled");
    expect(heard.events).toEqual(["answered 200"]);
  });

  test("by its receiver when that hears of the head", async () => {
    const body = endlessBody();
    const heard = new Recorder();
    const transfer = new FetchTransfer(async () => new Response(body.stream), heard);
    heard.onHead = () => transfer.cancel();
    await waitFor(() => body.isCancelled, "the body to be cancelled");
    expect(heard.events).toEqual(["answered 200"]);
    expect(heard.receivedBytes).toBe(0);
  });
});
