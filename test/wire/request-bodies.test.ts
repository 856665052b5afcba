import { describe, expect, test } from "bun:test";
import { seededRandom } from "../support/random.ts";
import { clientOf, exchange, post } from "./recorder.ts";
import { answerWith, type Peer, TestServer } from "./server.ts";

/** More than one write is needed from about here on. */
const scratchBytes = 64 * 1024;
const megabyte = 1024 * 1024;

function randomBytes(length: number): Buffer {
  const random = seededRandom(length);
  return Buffer.from(Uint8Array.from({ length }, () => random.below(256)));
}

/** About so many bytes of text, with letters of one to four of them. */
function textOf(bytes: number): string {
  const letters = "né à 😀 €";
  return letters.repeat(bytes / Buffer.byteLength(letters));
}

const bodies: readonly (readonly [what: string, body: Uint8Array | string])[] = [
  ["nothing, as text", ""],
  ["nothing, as bytes", Buffer.alloc(0)],
  ["text in ASCII", '{"model":"m"}'],
  ["text with letters of one to four bytes", "né à 😀 €"],
  ["text with half a surrogate pair", "a\ud83db"],
  ["1 KB of text", textOf(1024)],
  ["1 KB of bytes", randomBytes(1024)],
  ["200 KB of text", textOf(200 * 1024)],
  ["5 MB of text", textOf(5 * megabyte)],
  ["5 MB of bytes", randomBytes(5 * megabyte)],
];

function expectArrived(server: TestServer, body: Uint8Array | string): void {
  const sent = typeof body === "string" ? Buffer.from(body) : body;
  const [request] = server.requests.slice(-1);
  expect(request?.headers["content-length"]).toBe(String(sent.length));
  expect(Buffer.from(request?.body ?? []).equals(sent)).toBe(true);
}

describe("the server gets exactly the bytes of the body, and their number", () => {
  for (const [what, body] of bodies) {
    test(what, async () => {
      using server = new TestServer((peer) => void peer.write(answerWith("ok")));
      const client = clientOf(server);
      for (let turn = 0; turn < 2; turn++) {
        expect((await exchange(client, body)).text).toBe("ok");
        expectArrived(server, body);
      }
      expect(server.peers).toHaveLength(1);
    });
  }

  test("at every size around that of the scratch buffer, as text and as bytes", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith("ok")));
    const client = clientOf(server);
    for (let length = scratchBytes - 110; length < scratchBytes + 5; length++) {
      const text = `${"é".repeat(40)}${".".repeat(length - 80)}`;
      for (const body of [text, Buffer.from(text)]) {
        expect((await exchange(client, body)).text).toBe("ok");
        expectArrived(server, body);
      }
    }
    expect(server.peers).toHaveLength(1);
  });

  test("when the server takes them slowly", async () => {
    const accepted = (peer: Peer) => {
      peer.pause();
      const sips = setInterval(() => {
        peer.resume();
        setTimeout(() => peer.pause(), 1);
        if (peer.requests.length === 1 || peer.isGone) {
          clearInterval(sips);
          setTimeout(() => peer.resume(), 2);
        }
      }, 5);
    };
    using server = new TestServer((peer) => void peer.write(answerWith("ok")), { accepted });
    const body = randomBytes(5 * megabyte);
    const recorder = await exchange(clientOf(server), body);
    expect(recorder.events).toEqual(["connected", "answered 200", "ended"]);
    expectArrived(server, body);
  });

  test("when many that are large are sent at once", async () => {
    using server = new TestServer((peer) => void peer.write(answerWith("ok")));
    const client = clientOf(server);
    const sent = Array.from({ length: 16 }, (_, index) => {
      const body = Buffer.alloc(megabyte, `body ${index};`);
      return { body, ...post(client, body) };
    });
    for (const { recorder } of sent) expect(await recorder.over).toBe("ended");
    const arrived = server.requests.map(({ body }) => Bun.hash(body));
    expect(arrived.toSorted()).toEqual(sent.map(({ body }) => Bun.hash(body)).toSorted());
  });
});
