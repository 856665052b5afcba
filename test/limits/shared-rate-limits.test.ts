import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { SharedRateLimits } from "../../src/limits/shared-rate-limits.ts";
import { FakeClock } from "../support/clock.ts";

function limitsOver(answers: readonly ({ granted: boolean; level: number } | Error)[]) {
  const clock = new FakeClock();
  let asked = 0;
  const returned: unknown[] = [];
  const limits = new SharedRateLimits(clock, {
    async takeTokens() {
      const answer = answers[asked];
      asked += 1;
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error("asked too often");
      const { granted, level } = answer;
      return { granted, levels: [level] };
    },
    returnTokens: (...given) => void returned.push(given),
  });
  return { limits, clock, asked: () => asked, returned };
}

describe("shared rate limits", () => {
  test("ask nobody about a key without a limit", () => {
    const { limits, asked } = limitsOver([]);
    expect(limits.take("key", null)).toMatchObject({ allowed: true, limit: null });
    expect(asked()).toBe(0);
  });

  test("let the shared bucket decide, and refuse on their own what it would refuse", async () => {
    const { limits, clock, asked } = limitsOver([
      { granted: true, level: 0.5 },
      { granted: false, level: 0.9 },
      { granted: true, level: 0 },
    ]);
    expect(await limits.take("key", 60)).toMatchObject({ allowed: true, limit: 60, remaining: 0 });
    // Others have taken the rest: no need to ask the shared bucket again for half a second.
    expect(await limits.take("key", 60)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    expect(asked()).toBe(1);
    clock.advance(500);
    expect(await limits.take("key", 60)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    expect(asked()).toBe(2);
    clock.advance(2_000);
    expect(await limits.take("key", 60)).toMatchObject({ allowed: true });
    expect(asked()).toBe(3);
  });

  test("let the shared buckets decide about tokens, each time, and give back what was not used", async () => {
    const { limits, asked, returned } = limitsOver([
      { granted: true, level: 40 },
      { granted: false, level: 40 },
    ]);
    const bucket = { name: "key:tpm", capacity: 100 };
    expect(await limits.reserve([bucket], 60)).toMatchObject({
      allowed: true,
      limit: 100,
      remaining: 40,
      at: 0,
    });
    expect(await limits.reserve([bucket], 60)).toMatchObject({ allowed: false, retryAfterSeconds: 12 });
    expect(asked()).toBe(2);
    limits.correct([bucket], 50);
    expect(returned).toEqual([[[bucket], 50]]);
  });

  test("answer 503 while the database does not answer", async () => {
    const { limits } = limitsOver([new Error("away")]);
    const refused = await Promise.resolve(limits.take("key", 60)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(GatewayError);
    expect(refused).toMatchObject({ code: "service_unavailable", retryAfterSeconds: 5 });
  });
});
