import { expect, test } from "bun:test";
import { LeaveLimiter } from "../../src/limits/leave-limiter.ts";
import { FakeClock } from "../support/clock.ts";

function limiter() {
  const clock = new FakeClock();
  return { clock, limit: new LeaveLimiter(clock) };
}

test("the twentieth time within a minute is the last, until the first is a minute ago", () => {
  const { clock, limit } = limiter();
  for (let times = 0; times < 20; times += 1) {
    expect(limit.waitSeconds("k")).toBe(0);
    limit.hasLeft("k");
    clock.advance(1000);
  }
  expect(limit.waitSeconds("k")).toBe(40);
  expect(limit.waitSeconds("other")).toBe(0);
  clock.advance(39_999);
  expect(limit.waitSeconds("k")).toBe(1);
  clock.advance(1);
  expect(limit.waitSeconds("k")).toBe(0);
  limit.hasLeft("k");
  expect(limit.waitSeconds("k")).toBe(1);
});

test("who leaves every three seconds and a bit is never refused", () => {
  const { clock, limit } = limiter();
  for (let times = 0; times < 100; times += 1) {
    limit.hasLeft("k");
    expect(limit.waitSeconds("k")).toBe(0);
    clock.advance(3_200);
  }
});

test("keys that have not left for a minute are forgotten", () => {
  const { clock, limit } = limiter();
  for (let key = 0; key < 100; key += 1) {
    limit.hasLeft(`k${key}`);
    clock.advance(1000);
  }
  expect(limit.size).toBe(60);
});
