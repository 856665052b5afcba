import { expect, test } from "bun:test";
import { InflateLimiter } from "../../src/limits/byte-limiter.ts";
import { FakeClock } from "../support/clock.ts";

const megabytes = 1024 * 1024;

test("a key has 64 MiB at once and 16 a second; a new socket waits until all has come back", () => {
  const clock = new FakeClock();
  const limiter = new InflateLimiter(clock);
  expect(limiter.take("one", 32 * megabytes)).toBe(true);
  expect(limiter.take("one", 32 * megabytes)).toBe(true);
  expect(limiter.take("one", 1)).toBe(false);
  expect(limiter.take("other", megabytes)).toBe(true);
  clock.advance(1001);
  expect(limiter.take("one", 16 * megabytes)).toBe(true);
  clock.advance(3000);
  expect(limiter.allows("one")).toBe(false);
  clock.advance(1001);
  expect(limiter.allows("one")).toBe(true);
});

test("a key that has sent nothing for long is forgotten", () => {
  const clock = new FakeClock();
  const limiter = new InflateLimiter(clock);
  limiter.take("one", megabytes);
  clock.advance(60_000);
  limiter.take("other", megabytes);
  expect(limiter.size).toBe(1);
});
