import { describe, expect, test } from "bun:test";
import { rejectCircle } from "../../../src/admin/caps/step-downs.ts";

type Stepping = Parameters<typeof rejectCircle>[0];

let caps = 0;
function cap(models: string | null, thenModel: string | null, more: Partial<Stepping> = {}): Stepping {
  caps += 1;
  const everywhere = { keyId: null, accountId: null, mode: "credit", label: "owner", value: null } as const;
  return { id: `cap_${caps}`, ...everywhere, models, thenModel, ...more };
}

const circle = /in a circle/;

describe("a cap that steps down", () => {
  test("needs models, and another one than those", () => {
    expect(() => rejectCircle(cap(null, "small"), [])).toThrow("limit a pattern");
    expect(() => rejectCircle(cap("claude-*", "claude-small"), [])).toThrow("is itself one of the models");
    // A cloud's own name for a model that the pattern covers.
    expect(() => rejectCircle(cap("claude-*", "vertex/claude-small"), [])).toThrow("is itself one");
    expect(() => rejectCircle(cap("big", "small"), [])).not.toThrow();
    expect(() => rejectCircle(cap(null, null), [cap("a", "b")])).not.toThrow();
  });

  test("can lead to one that steps down further, but not back", () => {
    const chain = [cap("big", "middle"), cap("middle", "small")];
    expect(() => rejectCircle(cap("small", "tiny"), chain)).not.toThrow();
    expect(() => rejectCircle(cap("small", "big"), chain)).toThrow(circle);
    expect(() => rejectCircle(cap("s*", "big-2"), [cap("big*", "small")])).toThrow(circle);
    expect(() => rejectCircle(cap("tiny", "big"), chain)).not.toThrow();
  });

  test("is not compared with itself, with those that reject, or with those of the other mode", () => {
    const before = cap("small", "big");
    expect(() => rejectCircle({ ...before, models: "big", thenModel: "small" }, [before])).not.toThrow();
    expect(() => rejectCircle(cap("big", "small"), [cap("small", null)])).not.toThrow();
    const tokens = cap("small", "big", { mode: "token_budget" });
    expect(() => rejectCircle(cap("big", "small"), [tokens])).not.toThrow();
  });

  test("makes no circle with caps that no request falls under together with it", () => {
    const big = (more: Partial<Stepping>) => cap("big", "small", more);
    const small = (more: Partial<Stepping>) => cap("small", "big", more);
    const pairs: readonly (readonly [Partial<Stepping>, Partial<Stepping>, boolean])[] = [
      [{ keyId: "key_1" }, { keyId: "key_2" }, false],
      [{ keyId: "key_1" }, { keyId: "key_1" }, true],
      [{ keyId: "key_1" }, {}, true],
      [{ accountId: "acc_1" }, { accountId: "acc_2" }, false],
      // A key can be moved.
      [{ accountId: "acc_1" }, { keyId: "key_1" }, true],
      [{ value: "ada" }, { value: "ben" }, false],
      [{ value: "ada" }, {}, true],
      [{ value: "ada" }, { label: "user", value: "u1" }, true],
    ];
    for (const [one, other, isCircle] of pairs) {
      const add = () => rejectCircle(big(one), [small(other)]);
      if (isCircle) expect(add).toThrow(circle);
      else expect(add).not.toThrow();
    }
  });

  test("is judged quickly among 10,000 caps with many ways through them", () => {
    const all = Array.from({ length: 9_950 }, (_, n) =>
      cap(`m${n % 50}`, `m${(n % 50) + 1}`, { value: `p${n}` }),
    );
    for (let n = 0; n < 49; n += 1)
      all.push(cap(`m${n}`, `m${n + 1}`), cap(`m${n}*`, `m${n + 1}`, { label: "user" }));
    const startedMs = performance.now();
    expect(() => rejectCircle(cap("m50", "m0"), all)).toThrow(circle);
    expect(() => rejectCircle(cap("other", "m0"), all)).not.toThrow();
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });
});
