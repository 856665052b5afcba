import { expect, test } from "bun:test";
import { writtenAhead } from "../../src/gateway/turns/write-ahead.ts";
import type { ResponsePart } from "../../src/store/store.ts";

const partBytes = 256 * 1024;
const bytes = (length: number) => [new Uint8Array(length).fill(7)];

test("a short body is not written ahead", async () => {
  const written = await writtenAhead(bytes(100), () => expect.unreachable("there is one part"));
  expect(written).toEqual({ body: new Uint8Array(100).fill(7) });
});

test("a long body is written ahead in parts, all of which are written before its end is given", async () => {
  const parts: ResponsePart[] = [];
  const writing = Promise.withResolvers<void>();
  const ended = writtenAhead(bytes(2 * partBytes + 5), (part) => {
    parts.push(part);
    return writing.promise;
  });
  while (parts.length < 2) await Bun.sleep(0);
  await Bun.sleep(0);
  expect(Bun.peek.status(ended)).toBe("pending");
  writing.resolve();
  const { body, recording } = await ended;
  expect(recording).toEqual({ id: parts[0]?.recordingId ?? "", parts: 2 });
  expect(parts.map(({ sequence, body }) => [sequence, body.length])).toEqual([
    [0, partBytes],
    [1, partBytes],
  ]);
  expect(body.length).toBe(5);
});
