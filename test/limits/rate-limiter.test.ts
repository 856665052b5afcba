import { describe, expect, test } from "bun:test";
import { AddressLimiter } from "../../src/limits/address.ts";
import { RateLimiter } from "../../src/limits/rate-limiter.ts";
import { FakeClock } from "../support/clock.ts";

describe("the rate limit of a key", () => {
  test("allows its limit at once, then says after how many whole seconds one token is back", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(clock);
    for (let left = 19; left >= 0; left -= 1) {
      expect(limiter.take("k", 20)).toMatchObject({ allowed: true, limit: 20, remaining: left });
    }
    expect(limiter.take("k", 20)).toEqual({
      allowed: false,
      limit: 20,
      remaining: 0,
      resetSeconds: 60,
      retryAfterSeconds: 3,
    });
    clock.advance(2999);
    expect(limiter.take("k", 20)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    clock.advance(1);
    expect(limiter.take("k", 20).allowed).toBe(true);
    expect(limiter.take("k", 20).allowed).toBe(false);
  });

  test("is lowered by what others have taken, and never raised by it", () => {
    const limiter = new RateLimiter(new FakeClock());
    expect(limiter.lower("k", 20, 5, true)).toMatchObject({ allowed: true, remaining: 5 });
    expect(limiter.lower("k", 20, 15, true)).toMatchObject({ remaining: 5 });
    expect(limiter.take("k", 20)).toMatchObject({ allowed: true, remaining: 4 });
  });

  test("waiting exactly as long as it says is enough, for every limit", () => {
    for (let rpm = 1; rpm <= 500; rpm += 1) {
      const clock = new FakeClock();
      clock.advance(rpm / 7);
      const limiter = new RateLimiter(clock);
      let verdict = limiter.take("k", rpm);
      while (verdict.allowed) verdict = limiter.take("k", rpm);
      clock.advance(verdict.retryAfterSeconds * 1000);
      expect(limiter.take("k", rpm).allowed).toBe(true);
    }
  });

  test("admits no more than its capacity and its refill over ten minutes of hammering", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(clock);
    let admitted = 0;
    for (let step = 0; step < 60_000; step += 1) {
      if (limiter.take("k", 30).allowed) admitted += 1;
      clock.advance(10);
    }
    // The last call comes 10 ms before the tenth minute is over, so its last token is not yet back.
    expect(admitted).toBe(30 + 30 * 10 - 1);
  });

  test("keeps the fill in proportion when the limit changes", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(clock);
    for (let n = 0; n < 5; n += 1) limiter.take("k", 10);
    expect(limiter.take("k", 100)).toMatchObject({ allowed: true, remaining: 49 });
    expect(limiter.take("k", 2)).toMatchObject({ allowed: false, remaining: 0 });
  });

  test("a calendar that jumps gives no free requests", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(clock);
    limiter.take("k", 1);
    clock.jumpWall(86_400_000);
    expect(limiter.take("k", 1).allowed).toBe(false);
    clock.jumpWall(-2 * 86_400_000);
    expect(limiter.take("k", 1).allowed).toBe(false);
  });

  test("keys do not share, and a key without a limit is never refused", () => {
    const limiter = new RateLimiter(new FakeClock());
    expect(limiter.take("a", 1).allowed).toBe(true);
    expect(limiter.take("b", 1).allowed).toBe(true);
    expect(limiter.take("a", 1).allowed).toBe(false);
    expect(limiter.take("c", null)).toMatchObject({ allowed: true, limit: null });
  });

  test("takes tokens of all buckets or of none, and is told about the one to wait for", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(clock);
    const [large, small] = [
      { name: "large", capacity: 6_000 },
      { name: "small", capacity: 60 },
    ];
    expect(limiter.reserve([large, small], 40)).toMatchObject({
      allowed: true,
      at: 1,
      limit: 60,
      remaining: 20,
    });
    expect(limiter.reserve([large, small], 40)).toMatchObject({
      allowed: false,
      at: 1,
      retryAfterSeconds: 20,
    });
    expect(limiter.reserve([large], 5_960)).toMatchObject({ allowed: true, remaining: 0, resetSeconds: 60 });
    limiter.correct([large, small], 30);
    expect(limiter.reserve([large, small], 30)).toMatchObject({ allowed: true, at: 0, remaining: 0 });
    // More was used than was reserved: nothing is left until that has come back.
    limiter.correct([small], -60);
    expect(limiter.reserve([small], 1)).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterSeconds: 41,
    });
    clock.advance(41_000);
    expect(limiter.reserve([small], 1)).toMatchObject({ allowed: true, remaining: 0 });
    limiter.correct([small], 10_000);
    expect(limiter.reserve([small], 60)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("forgets keys whose bucket is full again, and none that is not", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(clock);
    for (let n = 0; n < 5000; n += 1) limiter.take(`k${n}`, 60);
    expect(limiter.size).toBe(5000);
    clock.advance(1000);
    for (let n = 0; n < 6000; n += 1) limiter.take("busy", 60);
    expect(limiter.size).toBe(1);
    expect(limiter.take("busy", 60).allowed).toBe(false);
  });
});

describe("the limit of an address", () => {
  test("counts per address and holds no more addresses than it may", () => {
    const limiter = new AddressLimiter(new FakeClock(), 2, 100);
    for (let n = 0; n < 1000; n += 1) limiter.take(`10.0.${n >> 8}.${n & 255}`);
    expect(limiter.size).toBe(100);
    expect(limiter.take("192.0.2.1").allowed).toBe(true);
    expect(limiter.take("192.0.2.1").allowed).toBe(true);
    expect(limiter.take("192.0.2.1")).toMatchObject({ allowed: false, retryAfterSeconds: 30 });
  });

  test("the address that was quiet for longest is forgotten first", () => {
    const limiter = new AddressLimiter(new FakeClock(), 1, 2);
    limiter.take("192.0.2.1");
    limiter.take("192.0.2.2");
    expect(limiter.take("192.0.2.1").allowed).toBe(false);
    limiter.take("192.0.2.3");
    expect(limiter.take("192.0.2.1").allowed).toBe(false);
  });

  test("one /64 of IPv6 is one caller", () => {
    const limiter = new AddressLimiter(new FakeClock(), 1);
    expect(limiter.take("2001:db8::1").allowed).toBe(true);
    expect(limiter.take("2001:0db8:0:0:dead::beef").allowed).toBe(false);
    expect(limiter.take("2001:db8:0:1::1").allowed).toBe(true);
  });
});
