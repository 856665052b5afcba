import { describe, expect, test } from "bun:test";
import { RequestWriter } from "../../src/wire/socket-transfer.ts";
import { seededRandom } from "../support/random.ts";

/** A socket whose kernel takes so many bytes at a time. */
class NarrowSocket {
  readonly #taken: Buffer[] = [];
  readonly #mostBytes: () => number;

  constructor(mostBytes: () => number) {
    this.#mostBytes = mostBytes;
  }

  readonly write = (data: string | ArrayBufferView | ArrayBufferLike, from = 0, length?: number): number => {
    if (!(data instanceof Uint8Array)) throw new Error("requests are written as bytes");
    const offered = data.subarray(from, length === undefined ? data.length : from + length);
    const taken = offered.subarray(0, this.#mostBytes());
    this.#taken.push(Buffer.from(taken));
    return taken.length;
  };

  get text(): string {
    return Buffer.concat(this.#taken).toString();
  }
}

const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n";
const expected = (body: string) => `${head}content-length: ${body.length}\r\n\r\n${body}`;
/** Fits into the first write with the head, and does not. */
const bodies = ["", "x".repeat(3000), "y".repeat(300_000)];

/** Writes until everything is sent. */
function send(writer: RequestWriter, socket: NarrowSocket, body: string): void {
  writer.start(socket, head, body);
  for (let writes = 0; !writer.isDone; writes += 1) {
    if (writes > 100_000) throw new Error("it goes on for ever");
    writer.continue(socket);
  }
}

describe("a request arrives whole through a socket that takes", () => {
  for (const bytes of [7, 64, 99, 100, 1000]) {
    test(`${bytes} bytes at a time`, () => {
      for (const body of bodies) {
        const socket = new NarrowSocket(() => bytes);
        const writer = new RequestWriter();
        send(writer, socket, body);
        expect(socket.text === expected(body)).toBe(true);
        expect(writer.sentBytes).toBe(expected(body).length);
      }
    });
  }

  test("now nothing, now a little, and then more", () => {
    const random = seededRandom(3);
    for (let run = 0; run < 50; run += 1) {
      const body = random.pick(bodies);
      const socket = new NarrowSocket(() => (random.chance(0.3) ? 0 : 1 + random.below(20_000)));
      send(new RequestWriter(), socket, body);
      expect(socket.text === expected(body)).toBe(true);
    }
  });
});

test("what is not sent yet is kept while other requests are written", () => {
  const [slow, fast] = [new NarrowSocket(() => 10), new NarrowSocket(() => 1_000_000)];
  const [waiting, other] = [new RequestWriter(), new RequestWriter()];
  waiting.start(slow, head, "first");
  send(other, fast, "second");
  while (!waiting.isDone) waiting.continue(slow);
  expect(slow.text).toBe(expected("first"));
  expect(fast.text).toBe(expected("second"));
});

test("a write that fails is noted, and counts as nothing", () => {
  const writer = new RequestWriter();
  writer.start({ write: () => -1 }, head, "body");
  expect([writer.hasFailed, writer.sentBytes, writer.isDone]).toEqual([true, 0, false]);
  writer.abandon();
  expect(writer.isDone).toBe(true);
});
