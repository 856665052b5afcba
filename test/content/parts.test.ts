import { expect, test } from "bun:test";
import type { Json } from "../../src/base/json.ts";
import { pack, repack, unpack } from "../../src/content/pack.ts";
import { RejectionLimit } from "../../src/content/rejection-limit.ts";
import { Sampler } from "../../src/content/sampler.ts";
import { truncateToBytes } from "../../src/content/truncate-to-bytes.ts";

test("a share is exact over 1,000", () => {
  for (const share of [0, 0.001, 0.1, 0.25, 0.333, 0.5, 0.999, 1]) {
    const sampler = new Sampler();
    const taken = Array.from({ length: 1000 }, () => sampler.takes(share)).filter(Boolean).length;
    expect(taken).toBe(Math.round(share * 1000));
  }
});

test("rejected requests are recorded up to a number for each key and second", () => {
  const limit = new RejectionLimit();
  const taken = (key: string, nowMs: number, times: number) =>
    Array.from({ length: times }, () => limit.takes(key, 100, nowMs)).filter(Boolean).length;
  expect(taken("a", 0, 80)).toBe(50);
  expect(taken("b", 10, 10)).toBe(10);
  expect(taken("a", 1000, 80)).toBe(50);
});

test("rejected requests are recorded up to a number of bytes for each key and minute", () => {
  const limit = new RejectionLimit();
  const taken = (key: string, nowMs: number, size: number, times: number) =>
    Array.from({ length: times }, () => limit.takes(key, size, nowMs)).filter(Boolean).length;
  expect(taken("a", 0, 1_000_000, 40)).toBe(4);
  expect(taken("a", 30_000, 1_000_000, 40)).toBe(0);
  expect(taken("b", 30_000, 1_000, 40)).toBe(40);
  expect(taken("a", 60_000, 10_000_000, 3)).toBe(1);
});

test("what is cut stays JSON, is no longer than the maximum, and tells what is missing", () => {
  const values: Json[] = [
    { messages: [{ role: "user", content: "x".repeat(5000) }] },
    { a: "é".repeat(3000), b: "short", c: '"\\'.repeat(2000) },
    { list: Array.from({ length: 2000 }, (_, place) => ({ place })) },
    Array.from({ length: 500 }, () => "some words that are not long"),
    { nested: { deep: [{ text: "y".repeat(4000) }, { text: "z".repeat(100) }] } },
    "😀".repeat(3000),
    { many: Object.fromEntries(Array.from({ length: 900 }, (_, place) => [`member${place}`, place])) },
  ];
  for (const value of values) {
    const { json, cut } = truncateToBytes(value, 1500);
    const bytes = Buffer.byteLength(json);
    expect(bytes).toBeLessThanOrEqual(1500);
    expect(() => JSON.parse(json)).not.toThrow();
    expect(json.isWellFormed()).toBe(true);
    expect(cut).toBe(Buffer.byteLength(JSON.stringify(value)) - bytes);
  }
  expect(truncateToBytes({ kept: true }, 1500)).toEqual({ json: '{"kept":true}', cut: 0 });
  const short = JSON.parse(truncateToBytes({ long: "x".repeat(5000), short: "kept" }, 1500).json);
  expect(short.short).toBe("kept");
  expect(short.long.length).toBeGreaterThan(1400);
});

test("a document is packed for one request and one key, and comes back as it was", () => {
  const key = new Uint8Array(32).fill(1);
  const other = new Uint8Array(32).fill(2);
  for (const text of ["{}", JSON.stringify({ long: "canal ".repeat(2000) })]) {
    const document = () => Buffer.from(` ${text}`);
    const read = (packed: Uint8Array | null) => (packed === null ? null : Buffer.from(packed).toString());
    expect(read(unpack(pack(document(), "a", null), "a", null))).toBe(text);
    const sealed = pack(document(), "a", key);
    expect(Buffer.from(sealed).includes("canal")).toBe(false);
    expect(read(unpack(sealed, "a", key))).toBe(text);
    expect(unpack(sealed, "a", other)).toBeNull();
    expect(unpack(sealed, "b", key)).toBeNull();
    expect(unpack(sealed, "a", null)).toBeNull();
    expect(read(unpack(repack(sealed, "a", key, other), "a", other))).toBe(text);
    expect(() => repack(sealed, "a", other, key)).toThrow("cannot be decrypted");
  }
});
