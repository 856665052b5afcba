import { describe, expect, test } from "bun:test";
import { waitFor } from "../support/wait.ts";
import { clientOf, everythingArrived, exchange, post } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const pieceBytes = 64 * 1024;

/** All pieces differ, so that a lost, repeated or misplaced one is noticed. */
function piece(number: number): Buffer {
  return Buffer.alloc(pieceBytes, `piece ${number};`);
}

/** Writes `count` pieces, and counts how many the kernel has accepted. */
async function sayPieces(peer: Peer, count: number, said: { pieces: number }): Promise<void> {
  await peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${count * pieceBytes}\r\n\r\n`);
  for (let number = 0; number < count && !peer.isGone; number++) {
    await peer.write(piece(number));
    said.pieces += 1;
  }
}

/** Waits until the value no longer changes. */
async function settled(value: () => number): Promise<number> {
  let last = -1;
  while (value() !== last) {
    last = value();
    for (let round = 0; round < 10; round++) await everythingArrived();
  }
  return last;
}

describe("a transfer that is paused", () => {
  test("makes TCP stop the server, and delivers every byte in order when resumed", async () => {
    const count = 1024;
    const said = { pieces: 0 };
    using server = new TestServer((peer) => void sayPieces(peer, count, said));
    const { transfer, recorder } = post(clientOf(server));
    recorder.onHead = () => transfer.pause();
    await waitFor(() => said.pieces > 0, "the first piece");
    const saidPieces = await settled(() => said.pieces);
    const receivedBytes = recorder.receivedBytes;
    // Kernels buffer some megabytes of a connection. The rest has not left the server.
    expect(saidPieces).toBeLessThan(count / 2);
    expect(receivedBytes).toBeLessThanOrEqual(1024 * 1024);
    expect(recorder.events).toEqual(["connected", "answered 200"]);
    transfer.resume();
    expect(await recorder.over).toBe("ended");
    const expected = Buffer.concat(Array.from({ length: count }, (_, number) => piece(number)));
    expect(recorder.bytes.equals(expected)).toBe(true);
  });

  test("can be paused and resumed at every piece", async () => {
    const count = 64;
    using server = new TestServer((peer) => void sayPieces(peer, count, { pieces: 0 }));
    const { transfer, recorder } = post(clientOf(server));
    recorder.onPiece = () => {
      transfer.pause();
      setTimeout(() => transfer.resume(), 1);
    };
    expect(await recorder.over).toBe("ended");
    const expected = Buffer.concat(Array.from({ length: count }, (_, number) => piece(number)));
    expect(recorder.bytes.equals(expected)).toBe(true);
  });

  test("at its last piece, leaves a connection that reads the next answer", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith("ok")));
    const client = clientOf(server);
    const first = post(client);
    first.recorder.onPiece = () => first.transfer.pause();
    expect(await first.recorder.over).toBe("ended");
    expect((await exchange(client)).text).toBe("ok");
    first.transfer.resume();
    expect(server.peers).toHaveLength(1);
  });

  test("before it is connected, is paused once it is", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith("ok")));
    const { transfer, recorder } = post(clientOf(server));
    transfer.pause();
    await waitFor(() => server.requests.length === 1, "the request");
    await everythingArrived();
    expect(recorder.events).toEqual(["connected"]);
    transfer.resume();
    expect(await recorder.over).toBe("ended");
  });

  test("can be cancelled; the server sees the connection end", async () => {
    const said = { pieces: 0 };
    using server = new TestServer((peer) => void sayPieces(peer, 1024, said));
    const { transfer, recorder } = post(clientOf(server));
    recorder.onHead = () => transfer.pause();
    await waitFor(() => recorder.events.includes("answered 200"), "the head");
    transfer.cancel();
    await server.peer(0).gone;
    expect(recorder.events).toEqual(["connected", "answered 200"]);
  });

  test("gets the rest and then the end, if the server closed meanwhile", async () => {
    const paused = Promise.withResolvers<void>();
    using server = new TestServer(async (peer) => {
      await peer.write("HTTP/1.1 200 OK\r\n\r\n");
      await paused.promise;
      await peer.write("the last words");
      peer.end();
    });
    const { transfer, recorder } = post(clientOf(server));
    recorder.onHead = () => {
      transfer.pause();
      paused.resolve();
    };
    await paused.promise;
    await everythingArrived();
    expect(recorder.events).toEqual(["connected", "answered 200"]);
    transfer.resume();
    expect(await recorder.over).toBe("ended");
    expect(recorder.text).toBe("the last words");
  });
});
