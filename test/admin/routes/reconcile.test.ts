import { expect, test } from "bun:test";
import type { ErrorView, Page } from "../../../src/admin/formats/shapes.ts";
import type { IssuedKeyView } from "../../../src/admin/key-terms/schema.ts";
import type { ReconciliationView } from "../../../src/admin/reconcile/schema.ts";
import type { AuditView } from "../../../src/admin/system/schema.ts";
import { attempt } from "../../store/attempts.ts";
import { settleItem } from "../../store/fixtures.ts";
import { anthropicUsagePage, openAiUsagePages } from "../reconcile/saved-answers.ts";
import { startAdmin } from "./fixtures.ts";

const october = { from: "2026-10-01", to: "2026-10-31" };

test("a bill is held against the ledger, and that is in the audit log", async () => {
  await using admin = await startAdmin();
  const { id } = await admin.post<IssuedKeyView>("/keys", { mode: "credit", credit: 10 });
  const usage = { inputTokens: 200, cachedInputTokens: 800, cacheWriteTokens: 0, outputTokens: 500 };
  const one = attempt({ upstreamModel: "gpt-5.6", attempts: 5, ...usage, owedNanoUsd: 0 });
  const atMs = Date.UTC(2026, 9, 1, 12);
  await admin.store.commit([{ ...settleItem(id, 100, { atMs }), attempts: [one] }]);
  const body = { provider: "openai", ...october, files: openAiUsagePages };
  const told = await admin.post<ReconciliationView>("/reconcile", body);
  expect(told).toMatchObject({ provider: "openai", ...october, tolerance: 1, differing: 2 });
  const lines = told.data.map(({ date, model, input, differing }) => [
    date,
    model,
    input.difference,
    differing.length,
  ]);
  expect(lines).toEqual([
    ["2026-10-01", "gpt-5.6", 0, 0],
    ["2026-10-01", "gpt-5.6-mini", 1000, 4],
    ["2026-10-02", "gpt-5.6", 1000, 3],
  ]);
  const figures = [{ date: "2026-10-01", model: "gpt-5.6", requests: 5, input: 1000, cost: 0.5 }];
  const again = await admin.post<ReconciliationView>("/reconcile", {
    provider: "openai",
    ...october,
    figures,
  });
  expect(again.data).toMatchObject([
    { model: "gpt-5.6", differing: ["cost"], cost: { billed: 0.5, ledger: 0 } },
  ]);
  const { data } = await admin.json<Page<AuditView>>("/audit?limit=2");
  expect(data[1]).toMatchObject({ action: "reconcile", target: "openai" });
  expect(data[1]?.detail).toBe("2026-10-01 to 2026-10-31: 2 of 3 differ");
});

test("a provider that the configuration no longer has is compared with what the ledger has of it", async () => {
  await using admin = await startAdmin();
  const { id } = await admin.post<IssuedKeyView>("/keys", { mode: "credit", credit: 10 });
  const one = attempt({ provider: "former", upstreamModel: "gpt-5.6", attempts: 5 });
  const atMs = Date.UTC(2026, 9, 1, 12);
  await admin.store.commit([{ ...settleItem(id, 100, { atMs }), attempts: [one] }]);
  const figures = [{ date: "2026-10-01", model: "gpt-5.6", requests: 5 }];
  const told = await admin.post<ReconciliationView>("/reconcile", {
    provider: "former",
    ...october,
    figures,
  });
  expect(told).toMatchObject({ provider: "former", differing: 0 });
});

test("what cannot be read, or is not asked for well, is refused with a sentence", async () => {
  await using admin = await startAdmin();
  const cases = [
    [{ files: ["{}"] }, /^Files\[0\]: no list of buckets/],
    [{}, /nothing to compare/],
    [{ figures: [{ date: "2026-10-01", tokens: 5 }] }, /figures\.0\.tokens` is not a known field/],
    [{ figures: [{ date: "2026-02-30", input: 5 }] }, /is not a day such as/],
    [{ files: [anthropicUsagePage], to: "2026-09-30" }, /2026-09-30 is before 2026-10-01/],
    [{ files: [anthropicUsagePage], to: "2026-13-01" }, /is not a day such as/],
    [{ files: [anthropicUsagePage], provider: "nobody" }, /unknown provider "nobody"/i],
    [{ files: ['{"data": [], "has_more": false}'] }, /nothing to compare/],
    [{ files: [" ".repeat(5 * 1024 * 1024)] }, /too large/],
  ] as const;
  for (const [more, message] of cases) {
    const body = JSON.stringify({ provider: "openai", ...october, ...more });
    const response = await admin.call("/reconcile", { method: "POST", body });
    const { error } = (await response.json()) as ErrorView;
    expect(error.message).toMatch(message);
    expect([400, 413]).toContain(response.status);
  }
}, 30_000);
