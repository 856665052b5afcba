import { expect, test } from "bun:test";
import { InflateLimiter } from "../../src/limits/inflate-limiter.ts";
import { FakeClock } from "../support/clock.ts";

const megabytes = 1024 * 1024;

test("a key has 64 MiB a minute, is allowed again as they come back, and is forgotten after that", () => {
  const clock = new FakeClock();
  const limiter = new InflateLimiter(clock);
  expect(limiter.take("one", 32 * megabytes)).toBe(true);
  expect(limiter.take("one", 32 * megabytes)).toBe(true);
  expect(limiter.allows("one")).toBe(false);
  expect(limiter.take("one", 32 * megabytes)).toBe(false);
  expect(limiter.take("other", megabytes)).toBe(true);
  clock.advance(25_000);
  expect(limiter.allows("one")).toBe(false);
  clock.advance(10_000);
  expect(limiter.allows("one")).toBe(true);
  clock.advance(60_000);
  expect(limiter.take("third", 1)).toBe(true);
  expect(limiter.size).toBe(1);
});
