import { expect, test } from "bun:test";
import { ByteLimiter } from "../../src/limits/byte-limiter.ts";
import { FakeClock } from "../support/clock.ts";

test("bytes that fit are counted, and others tell when they would fit", () => {
  const clock = new FakeClock();
  const limiter = new ByteLimiter(clock, { maxBytes: 1000, bytesPerMs: 0.1 });
  expect(limiter.wait("key", 600)).toBe(0);
  expect(limiter.wait("key", 400)).toBe(0);
  expect(limiter.wait("key", 150)).toBe(2);
  expect(limiter.wait("other", 1000)).toBe(0);
  clock.advance(2000);
  expect(limiter.wait("key", 150)).toBe(0);
});

test("what is larger than the limit fits alone, once all has come back", () => {
  const clock = new FakeClock();
  const limiter = new ByteLimiter(clock, { maxBytes: 1000, bytesPerMs: 1 });
  expect(limiter.wait("key", 5000)).toBe(0);
  expect(limiter.wait("key", 5000)).toBe(5);
  clock.advance(5000);
  expect(limiter.allows("key")).toBe(true);
  expect(limiter.wait("key", 5000)).toBe(0);
});
