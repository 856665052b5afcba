import { describe, expect, test } from "bun:test";
import { type BodyLimit, readBody } from "../../src/gateway/request/read-request.ts";
import { waitFor } from "../support/wait.ts";

const megabyte = 1024 * 1024;

class Limit implements BodyLimit {
  readonly maxBytes: number;
  readonly roomBytes: number;
  taken = 0;

  constructor(maxBytes: number, roomBytes = maxBytes) {
    this.maxBytes = maxBytes;
    this.roomBytes = roomBytes;
  }

  tooLarge(): Error {
    return new Error("too large");
  }

  take(bytes: number): void {
    if (this.taken + bytes > this.roomBytes) throw new Error("no room");
    this.taken += bytes;
  }
}

/** Copies of the bytes, 100 KB each, as the server gives them. */
function piecesOf(bytes: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += 100_000)
    pieces.push(Uint8Array.from(bytes.subarray(at, at + 100_000)));
  return pieces;
}

function requestOf(pieces: readonly Uint8Array[], announced: number | null): Request {
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const headers: Record<string, string> = announced === null ? {} : { "content-length": String(announced) };
  return new Request("http://localhost/", { method: "POST", body, headers });
}

/** As an async function, so that what is thrown at once is a rejection too. */
async function read(bytes: Uint8Array, isAnnounced: boolean, limit: BodyLimit): Promise<Uint8Array> {
  return await readBody(requestOf(piecesOf(bytes), isAnnounced ? bytes.length : null), limit);
}

describe.each([
  { framing: "announced", isAnnounced: true },
  { framing: "unannounced", isAnnounced: false },
])("a body whose length is $framing", ({ isAnnounced }) => {
  test.each([1000, 3 * megabyte])("is read if it has exactly as many bytes as allowed: %d", async (size) => {
    const bytes = crypto.getRandomValues(Buffer.alloc(Math.min(size, 65_536)));
    const whole = Buffer.alloc(size, bytes);
    const limit = new Limit(size);
    const received = await read(whole, isAnnounced, limit);
    expect(Buffer.compare(Buffer.from(received), whole)).toBe(0);
    expect(limit.taken).toBe(size);
    expect(received.buffer instanceof SharedArrayBuffer).toBe(size >= megabyte);
  });

  test.each([1000, 3 * megabyte])("is refused if it has one more: %d", async (size) => {
    const outcome = await read(Buffer.alloc(size + 1), isAnnounced, new Limit(size)).catch(String);
    expect(outcome).toBe("Error: too large");
  });

  test("frees what has come when there is no room for more", async () => {
    const pieces = piecesOf(Buffer.alloc(3 * megabyte));
    const request = requestOf(pieces, isAnnounced ? 3 * megabyte : null);
    expect(await readBody(request, new Limit(4 * megabyte, megabyte)).catch(String)).toBe("Error: no room");
    const kept = pieces.slice(0, 10).reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(kept).toBe(0);
  });
});

test("a request without a body has no bytes", async () => {
  expect(await readBody(new Request("http://localhost/", { method: "POST" }), new Limit(10))).toHaveLength(0);
});

test("a body is let go of, with what has come of it, when its exchange ends before it has come whole", async () => {
  const piece = new Uint8Array(100_000);
  const { promise: cancelled, resolve: cancel } = Promise.withResolvers<void>();
  const body = new ReadableStream({ start: (controller) => controller.enqueue(piece), cancel });
  const request = new Request("http://localhost/", { method: "POST", body });
  const ending = new AbortController();
  const limit = new Limit(megabyte);
  const reading = readBody(request, limit, ending).catch(String);
  await waitFor(() => limit.taken > 0, "the first piece");
  ending.abort(new Error("fenced"));
  await cancelled;
  expect(await reading).toBe("Error: fenced");
  expect(piece.byteLength).toBe(0);
});
