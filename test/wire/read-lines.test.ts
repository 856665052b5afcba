import { afterAll, expect, test } from "bun:test";
import { lengthOf } from "../../src/base/bytes.ts";
import { readLines } from "../../src/wire/read-lines.ts";
import { sendOnce } from "../../src/wire/send-once.ts";
import { type Answer, splitAt, text } from "../support/answers.ts";
import { startProvider } from "../support/provider.ts";

const provider = startProvider();
afterAll(() => provider.stop());

async function linesOf(answer: Answer, limits = { maxLineBytes: 1000, idleMs: 1000 }): Promise<string[]> {
  provider.script(answer);
  const request = { method: "GET", headers: {}, body: null, isLocal: true };
  const read: string[] = [];
  const send = (receiver: Parameters<typeof sendOnce>[2]) =>
    sendOnce(new URL(provider.url), request, receiver);
  for await (const line of readLines(send, () => {}, limits)) read.push(Buffer.concat(line).toString());
  return read;
}

test("reads the lines of a response, wherever it is cut", async () => {
  const body = text("one\ntwo é\n\nthree");
  expect(await linesOf(body)).toEqual(["one", "two é", "three"]);
  expect(await linesOf(splitAt(body, [1, 4, 9, 10, 12]))).toEqual(["one", "two é", "three"]);
  expect(await linesOf(text(""))).toEqual([]);
});

test("throws where a response breaks off, stalls, or has a line that is too long", async () => {
  const whole = text("one\ntwo\n");
  const cut = (then: Answer["steps"]): Answer => ({
    ...whole,
    framing: "chunked",
    steps: [{ write: "one\ntw" }, ...then],
  });
  await expect(linesOf(cut([{ reset: true }]))).rejects.toThrow();
  await expect(linesOf(cut([{ stall: true }]), { maxLineBytes: 1000, idleMs: 50 })).rejects.toThrow(
    "stalled",
  );
  await expect(linesOf(text("x".repeat(2000)))).rejects.toThrow("too long");
});

test("holds back a sender that is faster than its reader", async () => {
  const line = `${"x".repeat(1023)}\n`;
  provider.script(text(line.repeat(8192)));
  const request = { method: "GET", headers: {}, body: null, isLocal: true };
  let received = 0;
  let read = 0;
  let ahead = 0;
  const send = (receiver: Parameters<typeof sendOnce>[2]) =>
    sendOnce(new URL(provider.url), request, {
      connected: () => receiver.connected(),
      answered: (head) => receiver.answered(head),
      received: (bytes) => {
        received += bytes.length;
        ahead = Math.max(ahead, received - read);
        receiver.received(bytes);
      },
      ended: () => receiver.ended(),
      failed: (cause) => receiver.failed(cause),
    });
  for await (const bytes of readLines(send, () => {}, { maxLineBytes: 2000, idleMs: 1000 })) {
    read += lengthOf(bytes) + 1;
    if (read % (1024 * 256) === 0) await Bun.sleep(1);
  }
  expect(read).toBe(8192 * 1024);
  expect(ahead).toBeLessThan(2 * 1024 * 1024);
});
