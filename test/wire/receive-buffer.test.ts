import { expect, test } from "bun:test";
import { waitFor } from "../support/wait.ts";
import { clientOf, post } from "./recorder.ts";
import { type Peer, TestServer } from "./server.ts";

const isLinux = process.platform === "linux";
const pieces = 256;
const piece = Buffer.alloc(64 * 1024, "x");

async function flood(peer: Peer, type: string): Promise<void> {
  await peer.write(
    `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${pieces * piece.length}\r\n\r\n`,
  );
  for (let count = 0; count < pieces && !peer.isGone; count += 1) await peer.write(piece);
}

/** The longest piece that an answer of this type is read in, if it waits at every megabyte until more has come. */
async function longestPiece(type: string): Promise<number> {
  using server = new TestServer((peer) => void flood(peer, type));
  const { transfer, recorder } = post(clientOf(server));
  let longest = 0;
  let waitAt = 1024 * 1024;
  recorder.onPiece = ({ length }) => {
    longest = Math.max(longest, length);
    if (recorder.receivedBytes < waitAt) return;
    waitAt += 1024 * 1024;
    transfer.pause();
    setTimeout(() => transfer.resume(), 5);
  };
  expect(await recorder.over).toBe("ended");
  await waitFor(() => recorder.receivedBytes === pieces * piece.length, "the whole answer");
  return longest;
}

test.skipIf(!isLinux)("little of a stream is read at once, however fast its server sends", async () => {
  expect(await longestPiece("text/event-stream; charset=utf-8")).toBeLessThanOrEqual(256 * 1024);
});

test.skipIf(!isLinux)("a long answer that is no stream is read as fast as it comes", async () => {
  expect(await longestPiece("application/json")).toBeGreaterThan(256 * 1024);
});
