import { expect, test } from "bun:test";
import { type InputScanner, type LineSink, scanInput } from "../../../src/gateway/batches/scan-input.ts";
import { LineScanner } from "../../../src/gateway/batches/scan-lines.ts";
import { RequestScanner } from "../../../src/gateway/batches/scan-requests.ts";
import type { BatchLine } from "../../../src/store/store.ts";

const endpoint = "/v1/chat/completions";
const megabyte = 1024 * 1024;

/** What a scanner has found, and the bytes of memory that it has taken by then. */
class Found implements LineSink {
  readonly lines: BatchLine[] = [];
  readonly bodies: string[] = [];
  taken = 0;
  maxBytes = Number.POSITIVE_INFINITY;

  takeMemory = (bytes: number) => {
    this.taken += bytes;
    if (this.taken > this.maxBytes) throw new Error("There is no memory left.");
  };

  keep = async (line: BatchLine, body: Uint8Array) => {
    this.lines.push(line);
    this.bodies.push(Buffer.from(body).toString());
  };
}

function lines() {
  const onThread: number[] = [];
  const found = new Found();
  const scanLarge = async ({ bytes }: { readonly bytes: Uint8Array }) => {
    onThread.push(bytes.length);
    return { customId: `large ${onThread.length}`, start: 0, length: 2 };
  };
  const limits = { endpoint, maxLines: 100_000, maxLineBytes: 32 * megabyte };
  return { scanner: new LineScanner({ ...limits, ...found, scanLarge }), onThread, found };
}

/** The most bytes that were scanned in one iteration of the event loop. */
async function scanned(text: string, scanner: InputScanner): Promise<number> {
  let most = 0;
  let inIteration = 0;
  const counting: InputScanner = {
    problems: scanner.problems,
    get count() {
      return scanner.count;
    },
    push(piece) {
      if (inIteration === 0) setImmediate(() => (inIteration = 0));
      inIteration += piece.length;
      most = Math.max(most, inIteration);
      return scanner.push(piece);
    },
    end: () => scanner.end(),
  };
  async function* input() {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += megabyte / 4) yield bytes.subarray(at, at + megabyte / 4);
  }
  await scanInput(input(), counting);
  return most;
}

test("an input is scanned over many iterations of the event loop, and each line is kept with its body, in order", async () => {
  const count = 20_000;
  const text = Array.from({ length: count }, (_, no) =>
    JSON.stringify({ custom_id: String(no), method: "POST", url: endpoint, body: { no } }),
  ).join("\n");
  const { scanner, found } = lines();
  expect(await scanned(text, scanner)).toBeLessThanOrEqual(megabyte / 16);
  expect(found.lines.map(({ no }) => no)).toEqual(Array.from({ length: count }, (_, no) => no));
  expect(found.bodies).toEqual(found.lines.map(({ no }) => `{"no":${no}}`));
  for (const { customId, start, length } of found.lines.slice(-2)) {
    expect(text.slice(start, start + length)).toBe(`{"no":${customId}}`);
  }
});

test("a file with a hundred problems is read no further", async () => {
  const { scanner, found } = lines();
  await scanned("x\n".repeat(megabyte / 2), scanner);
  expect(found.lines).toEqual([]);
  expect(scanner.problems).toHaveLength(100);
  expect(scanner.count).toBe(100);
});

const longBody = { text: "y".repeat(megabyte) };
const longLine = JSON.stringify({ custom_id: "a", method: "POST", url: endpoint, body: longBody });

test("a long line, and a long request of a message batch, are scanned on the worker thread", async () => {
  const { scanner, onThread } = lines();
  await scanned(`\n${longLine}\n${longLine}`, scanner);
  expect(onThread).toEqual([longLine.length, longLine.length]);

  const lengths: number[] = [];
  const found = new Found();
  const requests = new RequestScanner({
    ...found,
    maxRequests: 10,
    maxRequestBytes: 32 * megabyte,
    scanLarge: async (bytes) => {
      lengths.push(bytes.length);
      return { customId: `request-${lengths.length}`, params: { start: 5, length: 10 } };
    },
  });
  const request = JSON.stringify({ custom_id: "a", params: longBody });
  await scanned(`{"requests":[${request},${request}]}`, requests);
  expect(lengths).toEqual([request.length, request.length]);
  expect(found.lines.map(({ customId, start }) => [customId, start])).toEqual([
    ["request-1", 18],
    ["request-2", 19 + request.length],
  ]);
});

test("memory for a line is taken before it is kept, and all lines of an input use the same", async () => {
  const { scanner, found } = lines();
  const taken: number[] = [];
  const terms = { endpoint, maxLines: 10, maxLineBytes: 2 * megabyte, scanLarge: async () => scannedLine };
  const scannedLine = { customId: "a", start: 0, length: 2 };
  const counting = new LineScanner({
    ...terms,
    ...found,
    takeMemory(bytes) {
      taken.push(bytes);
      found.takeMemory(bytes);
    },
  });
  await scanned(`${longLine}\n${longLine}\n${longLine}`, counting);
  expect(found.taken).toBe(longLine.length);
  expect(Math.max(...taken)).toBeLessThanOrEqual(32 * 1024);

  found.maxBytes = found.taken + 10_000;
  await expect(scanned(longLine, scanner)).rejects.toThrow("no memory left");
  // What is too long is only counted.
  const short = new LineScanner({
    ...terms,
    ...new Found(),
    maxLineBytes: 100_000,
    takeMemory: (bytes) => void taken.push(bytes),
  });
  taken.length = 0;
  await scanned(longLine, short);
  expect(taken.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(100_000);
  expect(short.problems).toMatchObject([{ code: "invalid_json_line", line: 1 }]);
});
