import { describe, expect, test } from "bun:test";
import { FetchTransfer } from "../../src/wire/fetch-transfer.ts";
import { waitFor } from "../support/wait.ts";
import { everythingArrived, Recorder } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

/** Over a real `fetch`, as for servers behind a proxy. */
function ask({ port }: TestServer) {
  const recorder = new Recorder();
  const init = { method: "POST", body: "{}", decompress: false } as const;
  const transfer = new FetchTransfer(
    (signal) => fetch(`http://127.0.0.1:${port}/`, { ...init, signal }),
    recorder,
  );
  return { recorder, transfer };
}

/** A body with a piece for every pull, which records whether it was cancelled. */
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
  test("delivers head, body and end", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith("hello", "x-name: value\r\n")));
    const { recorder, transfer } = ask(server);
    expect(transfer.isConnected).toBe(true);
    const values: (string | null)[] = [];
    recorder.onHead = (head) => void values.push(head.get("x-name"), head.get("x-other"));
    expect(recorder.events).toEqual([]);
    expect(await recorder.over).toBe("ended");
    expect(recorder.events).toEqual(["answered 200", "ended"]);
    expect(recorder.text).toBe("hello");
    expect(values).toEqual(["value", null]);
  });

  test("delivers an answer without a body, and one with an error status", async () => {
    using server = new TestServer((peer) => void peer.write("HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n"));
    const { recorder } = ask(server);
    await recorder.over;
    expect(recorder.events).toEqual(["answered 503", "ended"]);
  });

  test("fails if the body breaks off", async () => {
    const said = Promise.withResolvers<void>();
    using server = new TestServer(async (peer) => {
      await peer.write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello");
      await said.promise;
      peer.reset();
    });
    const { recorder } = ask(server);
    recorder.onPiece = () => said.resolve();
    await recorder.over;
    expect(recorder.events).toEqual(["answered 200", "failed ECONNRESET"]);
    expect(recorder.text).toBe("hello");
  });

  test("fails if the request fails, even synchronously", async () => {
    for (const ask of [
      () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" })),
      () => {
        throw Object.assign(new Error("no"), { code: "ENOTFOUND" });
      },
    ]) {
      const recorder = new Recorder();
      new FetchTransfer(ask, recorder);
      expect(recorder.events).toEqual([]);
      await recorder.over;
      expect(recorder.events).toEqual(["failed ENOTFOUND"]);
    }
  });
});

describe("a request that fails", () => {
  async function askFailing(code: string) {
    const recorder = new Recorder();
    let asked = 0;
    const transfer = new FetchTransfer(async () => {
      asked += 1;
      throw Object.assign(new Error("no"), { code });
    }, recorder);
    const isConnected: boolean[] = [];
    const { failed } = recorder;
    recorder.failed = (cause) => {
      isConnected.push(transfer.isConnected);
      failed.call(recorder, cause);
    };
    await recorder.over;
    return { events: recorder.events, asked, isConnected };
  }

  test("by a lost connection is not resent: the server may have read it", async () => {
    const outcome = await askFailing("ECONNRESET");
    expect(outcome).toEqual({ events: ["failed ECONNRESET"], asked: 1, isConnected: [true] });
  });

  for (const code of ["ENOTFOUND", "ECONNREFUSED", "ERR_PROXY_TUNNEL"]) {
    test(`by ${code} was never sent`, async () => {
      expect(await askFailing(code)).toEqual({ events: [`failed ${code}`], asked: 1, isConnected: [false] });
    });
  }

  test("by what is not HTTP has been answered, as over a connection of our own", async () => {
    using server = new TestServer((peer) => void peer.write("HTTP/1.1 nonsense\r\n\r\n"));
    const { recorder } = ask(server);
    expect(await recorder.over).toBe("failed EPROTO");
    expect(server.requests).toHaveLength(1);
  });
});

describe("pausing a transfer by fetch", () => {
  test("stops pulling from an endless body", async () => {
    const body = endlessBody();
    const recorder = new Recorder();
    const transfer = new FetchTransfer(async () => new Response(body.stream), recorder);
    await waitFor(() => recorder.pieces.length > 3, "some pieces");
    transfer.pause();
    transfer.pause();
    await waitFor(() => !body.isPulling, "the last piece that was asked for");
    await everythingArrived();
    const { pulls } = body;
    const { receivedBytes } = recorder;
    for (let round = 0; round < 10; round++) await everythingArrived();
    expect(body.pulls).toBe(pulls);
    expect(recorder.receivedBytes).toBe(receivedBytes);
    transfer.resume();
    await waitFor(() => recorder.receivedBytes > receivedBytes, "more pieces");
    transfer.cancel();
  });

  test("by a real server: every byte arrives in order", async () => {
    const whole = Buffer.alloc(4 * 1024 * 1024, "0123456789;");
    using server = new TestServer(async (peer) => {
      await peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${whole.length}\r\n\r\n`);
      await peer.write(whole);
    });
    const { recorder, transfer } = ask(server);
    recorder.onPiece = () => {
      transfer.pause();
      setTimeout(() => transfer.resume(), 0);
    };
    expect(await recorder.over).toBe("ended");
    expect(recorder.bytes.equals(whole)).toBe(true);
  });
});

describe("cancelling a transfer by fetch", () => {
  async function expectEnd(peer: Peer, recorder: Recorder, events: readonly string[]): Promise<void> {
    await peer.gone;
    await everythingArrived();
    expect(recorder.events).toEqual([...events]);
  }

  test("before the head: the server sees the end, the receiver gets no calls", async () => {
    using server = new TestServer(() => {});
    const { recorder, transfer } = ask(server);
    await waitFor(() => server.requests.length === 1, "the request");
    transfer.cancel();
    transfer.cancel();
    await expectEnd(server.peer(0), recorder, []);
  });

  test("within the body", async () => {
    using server = new TestServer(
      (peer) => void peer.write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"),
    );
    const { recorder, transfer } = ask(server);
    await waitFor(() => recorder.receivedBytes === 5, "some of the body");
    transfer.cancel();
    await expectEnd(server.peer(0), recorder, ["answered 200"]);
  });

  test("while it is paused", async () => {
    using server = new TestServer(
      (peer) => void peer.write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"),
    );
    const { recorder, transfer } = ask(server);
    recorder.onPiece = () => transfer.pause();
    await waitFor(() => recorder.receivedBytes === 5, "some of the body");
    transfer.cancel();
    await expectEnd(server.peer(0), recorder, ["answered 200"]);
  });

  test("cancels a body that ignores the signal", async () => {
    const body = endlessBody();
    const recorder = new Recorder();
    const transfer = new FetchTransfer(async () => new Response(body.stream), recorder);
    await waitFor(() => recorder.pieces.length > 3, "some pieces");
    transfer.cancel();
    await waitFor(() => body.isCancelled, "the body to be cancelled");
    expect(recorder.events).toEqual(["answered 200"]);
  });

  test("by its receiver when it gets the head", async () => {
    const body = endlessBody();
    const recorder = new Recorder();
    const transfer = new FetchTransfer(async () => new Response(body.stream), recorder);
    recorder.onHead = () => transfer.cancel();
    await waitFor(() => body.isCancelled, "the body to be cancelled");
    expect(recorder.events).toEqual(["answered 200"]);
    expect(recorder.receivedBytes).toBe(0);
  });
});
