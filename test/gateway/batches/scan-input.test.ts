import { expect, test } from "bun:test";
import { type InputScanner, scanInput } from "../../../src/gateway/batches/scan-input.ts";
import { LineScanner } from "../../../src/gateway/batches/scan-lines.ts";
import { RequestScanner } from "../../../src/gateway/batches/scan-requests.ts";
import type { BatchLine } from "../../../src/store/store.ts";

const endpoint = "/v1/chat/completions";
const megabyte = 1024 * 1024;

function lines(): { readonly scanner: LineScanner; readonly onThread: number[] } {
  const onThread: number[] = [];
  const scanLarge = async ({ bytes }: { readonly bytes: Uint8Array }) => {
    onThread.push(bytes.length);
    return { customId: `large ${onThread.length}`, start: 0, length: 2 };
  };
  const limits = { endpoint, maxLines: 100_000, maxLineBytes: 32 * megabyte };
  return { scanner: new LineScanner({ ...limits, scanLarge }), onThread };
}

/** The most bytes that were scanned in one iteration of the event loop, and the lines in the order in which they were kept. */
async function scanned(text: string, scanner: InputScanner) {
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
    found: scanner.found,
  };
  const kept: (readonly BatchLine[])[] = [];
  async function* input() {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += megabyte / 4) yield bytes.subarray(at, at + megabyte / 4);
  }
  await scanInput(input(), counting, async (found) => {
    kept.push(found);
  });
  return { most, kept };
}

test("an input is scanned over many iterations of the event loop, and its lines are kept some at a time", async () => {
  const count = 20_000;
  const text = Array.from({ length: count }, (_, no) =>
    JSON.stringify({ custom_id: String(no), method: "POST", url: endpoint, body: {} }),
  ).join("\n");
  const { most, kept } = await scanned(text, lines().scanner);
  expect(most).toBeLessThanOrEqual(megabyte / 16);
  expect(Math.max(...kept.map(({ length }) => length))).toBeLessThanOrEqual(200);
  expect(kept.flat().map(({ no }) => no)).toEqual(Array.from({ length: count }, (_, no) => no));
  for (const { customId, start, length } of kept.flat().slice(-2)) {
    expect(text.slice(start, start + length)).toBe("{}");
    expect(text.slice(0, start)).toContain(`"custom_id":"${customId}"`);
  }
});

test("a file with a hundred problems is read no further", async () => {
  const { scanner } = lines();
  const { kept } = await scanned("x\n".repeat(megabyte / 2), scanner);
  expect(kept).toEqual([]);
  expect(scanner.problems).toHaveLength(100);
  expect(scanner.count).toBe(100);
});

test("a long line, and a long request of a message batch, are scanned on the worker thread", async () => {
  const body = { text: "y".repeat(megabyte) };
  const line = JSON.stringify({ custom_id: "a", method: "POST", url: endpoint, body });
  const { scanner, onThread } = lines();
  await scanned(`\n${line}\n${line}`, scanner);
  expect(onThread).toEqual([line.length, line.length]);

  const lengths: number[] = [];
  const requests = new RequestScanner({
    maxRequests: 10,
    maxRequestBytes: 32 * megabyte,
    scanLarge: async (bytes) => {
      lengths.push(bytes.length);
      return { customId: `request-${lengths.length}`, params: { start: 5, length: 10 } };
    },
  });
  const request = JSON.stringify({ custom_id: "a", params: body });
  const { kept } = await scanned(`{"requests":[${request},${request}]}`, requests);
  expect(lengths).toEqual([request.length, request.length]);
  expect(kept.flat().map(({ customId, start }) => [customId, start])).toEqual([
    ["request-1", 18],
    ["request-2", 19 + request.length],
  ]);
});
