import { describe, expect, test } from "bun:test";
import { type ComparedRow, compare } from "../../../src/admin/reconcile/compare.ts";
import type { AttemptSums } from "../../../src/store/store.ts";
import { type ReportMetrics, reportMetrics } from "../../../src/vendors/usage-report.ts";

const day = 20_000;

function asked(changes: Partial<AttemptSums> = {}): AttemptSums {
  return {
    day,
    provider: "openai",
    credential: "c1",
    upstreamModel: "gpt-5.6",
    outcome: "completed",
    attempts: 10,
    estimated: 0,
    inputTokens: 600,
    cachedInputTokens: 300,
    cacheWriteTokens: 100,
    outputTokens: 50,
    countedInputTokens: 0,
    countedOutputTokens: 0,
    owedNanoUsd: 1_000,
    ...changes,
  };
}

/** What a bill says of `asked()` if it agrees. */
const agreed = { requests: 10, input: 1000, cached: 300, cache_writes: 100, output: 50, cost: 1_000 };

interface Line {
  readonly model?: string | null;
  readonly figures?: ReportMetrics;
  readonly on?: number;
}

function compared(lines: readonly Line[], attempts: readonly AttemptSums[], tolerance = 0) {
  const billed = lines.map(({ model = "gpt-5.6", figures = agreed, on = day }) => ({
    day: on,
    model,
    figures,
  }));
  const metrics = new Set(billed.flatMap(({ figures }) => reportMetrics.filter((name) => name in figures)));
  return compare({ bill: { lines: billed, metrics }, attempts, tolerance });
}

function onlyRow(lines: readonly Line[], attempts: readonly AttemptSums[], tolerance = 0): ComparedRow {
  const { rows } = compared(lines, attempts, tolerance);
  expect(rows.length).toBe(1);
  return rows[0] as ComparedRow;
}

function reasonsFor(figures: ReportMetrics, ...attempts: readonly AttemptSums[]) {
  return onlyRow([{ figures }], attempts).reasons.map(({ kind, calls }) => [kind, calls]);
}

describe("a bill and the ledger", () => {
  test("agree over all credentials, with what was counted here, and in USD", () => {
    const half = { attempts: 5, inputTokens: 300, cachedInputTokens: 150, cacheWriteTokens: 50 };
    const estimated = { countedInputTokens: 20, countedOutputTokens: 5, estimated: 1 };
    const one = asked({ ...half, outputTokens: 25, owedNanoUsd: 500 });
    const other = asked({
      ...half,
      ...estimated,
      inputTokens: 280,
      outputTokens: 20,
      owedNanoUsd: 500,
      credential: "c2",
    });
    const row = onlyRow([{}], [one, other]);
    expect(row).toEqual({
      day,
      model: "gpt-5.6",
      billed: agreed,
      ledger: agreed,
      differing: [],
      reasons: [],
    });
  });

  test("differ only beyond the tolerance, and only in what the bill metrics", () => {
    const figures = { input: 1010, output: 50 };
    expect(onlyRow([{ figures }], [asked()], 0.01).differing).toEqual([]);
    expect(onlyRow([{ figures }], [asked()], 0.009).differing).toEqual(["input"]);
  });

  test("differ where one of them has no such day or model", () => {
    const { rows, total, differingRows } = compared(
      [{ on: day + 1 }, { model: "other" }],
      [asked(), asked({ outcome: "uncharged", upstreamModel: "other" })],
    );
    expect(rows.map((row) => [row.day - day, row.model, row.billed.input, row.ledger.input])).toEqual([
      [0, "gpt-5.6", 0, 1000],
      [0, "other", 1000, 0],
      [1, "gpt-5.6", 1000, 0],
    ]);
    expect(differingRows).toBe(3);
    expect(total).toMatchObject({ billed: { input: 2000 }, ledger: { input: 1000 } });
  });

  test("are compared over all models where the bill does not tell them apart", () => {
    const { rows, total } = compared(
      [{ model: null, figures: { cost: 1_500 } }, { figures: { input: 1000 } }],
      [asked(), asked({ upstreamModel: "b", owedNanoUsd: 500, inputTokens: 0 })],
    );
    expect(rows.map(({ model, billed, differing }) => [model, billed, differing])).toEqual([
      [null, { cost: 1_500 }, []],
      ["b", { input: 0 }, ["input"]],
      ["gpt-5.6", { input: 1000 }, []],
    ]);
    expect(total.ledger.cost).toBe(1_500);
    expect(compared([{ model: null, figures: { cost: 1_000 } }], [asked()]).rows.length).toBe(1);
  });
});

describe("a snapshot on the bill", () => {
  const cases: readonly [string, string[], string[], string[]][] = [
    ["is the model that was asked for without a date", ["gpt-5.6-2026-04-23"], ["gpt-5.6"], ["gpt-5.6"]],
    [
      "is the alias that follows it",
      ["claude-opus-4-7-20260416"],
      ["claude-opus-4-7-latest"],
      ["claude-opus-4-7-latest"],
    ],
    ["is itself where it was asked for", ["m-20260416", "m"], ["m", "m-20260416"], ["m", "m-20260416"]],
    ["is one of several that a name stands for", ["m-20260416", "m-20260501"], ["m"], ["m"]],
    ["and its name, both asked for, are one model", ["m-20260416"], ["m", "m-20260416"], ["m"]],
    [
      "keeps its name if nobody asked for it",
      ["m-20260416"],
      ["gpt-5.6-mini"],
      ["gpt-5.6-mini", "m-20260416"],
    ],
  ];
  for (const [name, billed, ledger, shown] of cases) {
    test(name, () => {
      const attempts = ledger.map((upstreamModel) => asked({ upstreamModel }));
      const { rows } = compared(
        billed.map((model) => ({ model })),
        attempts,
      );
      expect(rows.map(({ model }) => model)).toEqual(shown);
    });
  }
});

describe("the likely reason", () => {
  const more = { ...agreed, input: 1100, output: 60, requests: 12 };

  test("is what was charged by an estimate, by how it ended", () => {
    const estimates = [
      asked({ attempts: 7 }),
      asked({ outcome: "cancelled", attempts: 1, estimated: 1 }),
      asked({ outcome: "failed", attempts: 2, estimated: 1 }),
      asked({ outcome: "interrupted", attempts: 1, estimated: 1 }),
      asked({ attempts: 1, estimated: 1, credential: "c2" }),
    ];
    expect(reasonsFor(more, ...estimates)).toEqual([
      ["cancelled", 1],
      ["failed", 1],
      ["interrupted", 1],
      ["estimated", 1],
    ]);
  });

  test("is what was charged to nobody, as far as it goes, and then calls past the gateway", () => {
    const uncharged = asked({ outcome: "uncharged", attempts: 2, owedNanoUsd: 0 });
    expect(reasonsFor(more, asked(), uncharged)).toEqual([["uncharged", 2]]);
    expect(reasonsFor({ ...more, requests: 15 }, asked(), uncharged)).toEqual([
      ["uncharged", 2],
      ["outside_gateway", 3],
    ]);
  });

  test("is not what was charged to nobody where the bill has less", () => {
    const uncharged = asked({ outcome: "uncharged", attempts: 3, inputTokens: 0, outputTokens: 0 });
    expect(reasonsFor({ ...agreed, requests: 6, input: 900 }, asked(), uncharged)).toEqual([
      ["not_billed", 7],
    ]);
  });

  test("is no call past the gateway where estimates explain what is billed, and calls are not told", () => {
    const { requests: _, ...told } = agreed;
    const estimated = asked({ outcome: "cancelled", estimated: 2 });
    expect(reasonsFor({ ...told, output: 60 }, estimated)).toEqual([["cancelled", 2]]);
  });

  test("is calls past the gateway where nothing else explains what was billed", () => {
    expect(reasonsFor(more, asked())).toEqual([["outside_gateway", 2]]);
    expect(reasonsFor({ input: 1100, output: 50 }, asked())).toEqual([["outside_gateway", null]]);
  });

  test("is a bill that is not complete where it has less", () => {
    expect(reasonsFor({ ...agreed, requests: 8, input: 900 }, asked())).toEqual([["not_billed", 2]]);
    expect(reasonsFor({ input: 900 }, asked())).toEqual([["not_billed", null]]);
  });

  test("is other figures where both have the same calls", () => {
    expect(reasonsFor({ ...agreed, output: 60 }, asked())).toEqual([["usage_mismatch", null]]);
    expect(reasonsFor({ ...agreed, output: 40 }, asked())).toEqual([["usage_mismatch", null]]);
  });

  test("is never missing, whatever differs", () => {
    const endings = [asked({ attempts: 1 }), asked({ outcome: "uncharged", attempts: 1 })];
    for (const requests of [undefined, 0, 1, 2, 3]) {
      for (const input of [undefined, 0, 5000]) {
        for (const cost of [undefined, 0, 5000]) {
          const { differing, reasons } = onlyRow([{ figures: { requests, input, cost } }], endings);
          expect(reasons.length > 0).toBe(differing.length > 0);
        }
      }
    }
  });

  test("is the prices where only the cost differs", () => {
    expect(reasonsFor({ ...agreed, cost: 1_200 }, asked())).toEqual([["price_mismatch", null]]);
    expect(reasonsFor({ cost: 900 }, asked())).toEqual([
      ["not_billed", null],
      ["price_mismatch", null],
    ]);
  });
});
