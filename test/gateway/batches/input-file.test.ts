import { expect, test } from "bun:test";
import { InputReader, InputWriter } from "../../../src/gateway/batches/input-file.ts";
import type { FilePart, FileRecords } from "../../../src/store/store.ts";

const partBytes = 256 * 1024;

const tooMuch = () => new Error("It is too long.");
const limits = { maxBytes: 10 * 1024 * 1024, tooLong: tooMuch, bytesPerKey: 0, full: tooMuch };

/** Parts in memory, all durable with the same sync. */
class Parts {
  readonly stored = new Map<string, Uint8Array>();
  readonly perIteration: number[] = [];
  #now = 0;

  readonly records = {
    freeBytes: () => null,
    addPart: async ({ fileId, sequence, body }: FilePart) => {
      this.stored.set(`${fileId} ${sequence}`, body);
      if (this.#now === 0) {
        setImmediate(() => {
          this.perIteration.push(this.#now);
          this.#now = 0;
        });
      }
      this.#now += 1;
      await Bun.sleep(5);
      return true;
    },
    part: async (id: string, sequence: number) => this.stored.get(`${id} ${sequence}`) ?? null,
  } as Partial<FileRecords> as FileRecords;
}

test("uploads at once write one part per event-loop iteration, and read what they wrote", async () => {
  const parts = new Parts();
  const files = { records: parts.records, key: new Uint8Array(32) };
  const content = new Uint8Array(5 * partBytes + 1).map((_, place) => place % 251);
  await Promise.all(
    Array.from({ length: 8 }, async (_, number) => {
      const writer = new InputWriter(files, `file-${number}`, limits, true);
      for (let at = 0; at < content.length; at += 100_000)
        await writer.write(content.subarray(at, at + 100_000));
      await writer.end();
      expect(writer.hash).toBe(Bun.SHA256.hash(content, "hex"));
    }),
  );
  expect(parts.stored.size).toBe(8 * 6);
  expect(Math.max(...parts.perIteration)).toBe(1);
  const pieces: Uint8Array[] = [];
  for await (const piece of new InputReader(files, "file-7").pieces({ bytes: content.length }))
    pieces.push(piece);
  expect(Buffer.concat(pieces).equals(content)).toBe(true);
});
