import { expect, test } from "bun:test";
import type { InputReader } from "../../../src/gateway/batches/input-file.ts";
import { OpenBatch } from "../../../src/gateway/batches/open-batch.ts";
import type { BatchRecord } from "../../../src/store/store.ts";

function running(lines: number): OpenBatch {
  const request = { headers: [], address: "", metadata: null };
  const record = { id: "batch_1", keyId: "key_1", request: "{}" } as BatchRecord;
  const batch = new OpenBatch(record, "/v1/chat/completions", request, {} as InputReader);
  batch.running = lines;
  return batch;
}

test("lines that are rejected at once slow a batch down once", () => {
  const batch = running(8);
  for (; batch.running > 0; batch.running -= 1) {
    expect(batch.slowDown(0, null)).toBeLessThanOrEqual(1250);
  }
  expect(batch.hasRoom(1250)).toBe(true);
  batch.running = 3;
  expect(batch.hasRoom(1250)).toBe(true);
  batch.running = 4;
  expect(batch.hasRoom(1250)).toBe(false);
});

test("a provider that stays busy is asked less and less often", () => {
  const batch = running(1);
  let nowMs = 0;
  for (let time = 0; time < 12; time += 1) nowMs += batch.slowDown(nowMs, null);
  expect(batch.slowDown(nowMs, null)).toBe(300_000);
  batch.succeeded();
  expect(batch.slowDown(nowMs + 300_000, null)).toBeLessThanOrEqual(1250);
});

test("Retry-After is heeded, also that of a later line", () => {
  const batch = running(2);
  batch.slowDown(0, null);
  expect(batch.slowDown(10, 20_000)).toBeGreaterThanOrEqual(20_000);
  expect(batch.hasRoom(20_000)).toBe(false);
});

test("a line that fails now and then waits alone, and a provider that fails all slows the batch down", () => {
  const batch = running(8);
  for (let time = 0; time < 10; time += 1) {
    expect(batch.failed(0, null, 0)).toBeGreaterThanOrEqual(1000);
    expect(batch.failed(0, null, 2)).toBeGreaterThanOrEqual(4000);
    expect(batch.hasRoom(0)).toBe(true);
    batch.succeeded();
  }
  for (let time = 0; time < 4; time += 1) batch.failed(0, null, 0);
  expect(batch.hasRoom(0)).toBe(false);
});
