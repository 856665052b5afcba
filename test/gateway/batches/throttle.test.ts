import { expect, test } from "bun:test";
import { Throttle } from "../../../src/gateway/batches/throttle.ts";

function running(lines: number): Throttle {
  const throttle = new Throttle();
  throttle.running = lines;
  return throttle;
}

test("lines that are rejected at once slow a deployment down once", () => {
  const throttle = running(8);
  for (; throttle.running > 0; throttle.running -= 1) {
    expect(throttle.slowDown(0, null)).toBeLessThanOrEqual(1250);
  }
  expect(throttle.hasRoom(1250)).toBe(true);
  throttle.running = 3;
  expect(throttle.hasRoom(1250)).toBe(true);
  throttle.running = 4;
  expect(throttle.hasRoom(1250)).toBe(false);
});

test("a provider that stays busy is asked less and less often", () => {
  const throttle = running(1);
  let nowMs = 0;
  for (let time = 0; time < 12; time += 1) nowMs += throttle.slowDown(nowMs, null);
  expect(throttle.slowDown(nowMs, null)).toBe(300_000);
  throttle.succeeded();
  expect(throttle.slowDown(nowMs + 300_000, null)).toBeLessThanOrEqual(1250);
});

test("Retry-After is heeded, also that of a later line", () => {
  const throttle = running(2);
  throttle.slowDown(0, null);
  expect(throttle.slowDown(10, 20_000)).toBeGreaterThanOrEqual(20_000);
  expect(throttle.hasRoom(20_000)).toBe(false);
});

test("a line that fails now and then waits alone, and a provider that fails all slows its lines down", () => {
  const throttle = running(8);
  for (let time = 0; time < 10; time += 1) {
    expect(throttle.failed(0, null, 0)).toBeGreaterThanOrEqual(1000);
    expect(throttle.failed(0, null, 2)).toBeGreaterThanOrEqual(4000);
    expect(throttle.hasRoom(0)).toBe(true);
    throttle.succeeded();
  }
  for (let time = 0; time < 4; time += 1) throttle.failed(0, null, 0);
  expect(throttle.hasRoom(0)).toBe(false);
});
