import { describe, expect, test } from "bun:test";
import { waitFor } from "../support/wait.ts";
import { clientOf, everythingArrived, exchange, post } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

const pieceBytes = 64 * 1024;

/** Pieces that are all different, so that one that is lost, doubled or out of order shows. */
function piece(number: number): Buffer {
  return Buffer.alloc(pieceBytes, `piece ${number};`);
}

/** Says `count` pieces, and counts how many the kernel has taken. */
async function sayPieces(peer: Peer, count: number, said: { pieces: number }): Promise<void> {
  await peer.say(`HTTP/1.1 200 OK\r\ncontent-length: ${count * pieceBytes}\r\n\r\n`);
  for (let number = 0; number < count && !peer.isGone; number++) {
    await peer.say(piece(number));
    said.pieces += 1;
  }
}

/** Waits until nothing changes any more, whatever else comes and goes. */
async function settled(value: () => number): Promise<number> {
  let last = -1;
  while (value() !== last) {
    last = value();
    for (let round = 0; round < 10; round++) await everythingArrived();
  }
  return last;
}

describe("a transfer that is paused", () => {
  test("stops the server by TCP's own means, and gives every byte in order when it goes on", async () => {
    const count = 1024;
    const said = { pieces: 0 };
    using server = new TestServer((peer) => void sayPieces(peer, count, said));
    const { transfer, heard } = post(clientOf(server));
    heard.onHead = () => transfer.pause();
    await waitFor(() => said.pieces > 0, "the first piece");
    const saidPieces = await settled(() => said.pieces);
    const receivedBytes = heard.receivedBytes;
    // Kernels keep some megabytes of a connection; of the rest nothing has left the server.
    expect(saidPieces).toBeLessThan(count / 2);
    expect(receivedBytes).toBeLessThanOrEqual(1024 * 1024);
    expect(heard.events).toEqual(["connected", "answered 200"]);
    transfer.resume();
    expect(await heard.over).toBe("ended");
    const expected = Buffer.concat(Array.from({ length: count }, (_, number) => piece(number)));
    expect(heard.bytes.equals(expected)).toBe(true);
  });

  test("can be paused and resumed at every piece", async () => {
    const count = 64;
    using server = new TestServer((peer) => void sayPieces(peer, count, { pieces: 0 }));
    const { transfer, heard } = post(clientOf(server));
    heard.onPiece = () => {
      transfer.pause();
      setTimeout(() => transfer.resume(), 1);
    };
    expect(await heard.over).toBe("ended");
    const expected = Buffer.concat(Array.from({ length: count }, (_, number) => piece(number)));
    expect(heard.bytes.equals(expected)).toBe(true);
  });

  test("at its last piece, leaves a connection that hears the next answer", async () => {
    using server = new TestServer((peer) => void peer.say(answerWith("ok")));
    const client = clientOf(server);
    const first = post(client);
    first.heard.onPiece = () => first.transfer.pause();
    expect(await first.heard.over).toBe("ended");
    expect((await exchange(client)).text).toBe("ok");
    first.transfer.resume();
    expect(server.peers).toHaveLength(1);
  });

  test("before its connection stands, is paused once it does", async () => {
    using server = new TestServer((peer) => void peer.say(answerWith("ok")));
    const { transfer, heard } = post(clientOf(server));
    transfer.pause();
    await waitFor(() => server.requests.length === 1, "the request");
    await everythingArrived();
    expect(heard.events).toEqual(["connected"]);
    transfer.resume();
    expect(await heard.over).toBe("ended");
  });

  test("can be cancelled; the server sees the connection end", async () => {
    const said = { pieces: 0 };
    using server = new TestServer((peer) => void sayPieces(peer, 1024, said));
    const { transfer, heard } = post(clientOf(server));
    heard.onHead = () => transfer.pause();
    await waitFor(() => heard.events.includes("answered 200"), "the head");
    transfer.cancel();
    await server.peer(0).gone;
    expect(heard.events).toEqual(["connected", "answered 200"]);
  });

  test("hears of a server that ends meanwhile when it goes on, after all that was said", async () => {
    const paused = Promise.withResolvers<void>();
    using server = new TestServer(async (peer) => {
      await peer.say("HTTP/1.1 200 OK\r\n\r\n");
      await paused.promise;
      await peer.say("the last words");
      peer.end();
    });
    const { transfer, heard } = post(clientOf(server));
    heard.onHead = () => {
      transfer.pause();
      paused.resolve();
    };
    await paused.promise;
    await everythingArrived();
    expect(heard.events).toEqual(["connected", "answered 200"]);
    transfer.resume();
    expect(await heard.over).toBe("ended");
    expect(heard.text).toBe("the last words");
  });
});
