import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { KeyView } from "../../src/admin/key-terms/schema.ts";
import type { OverviewView, UsageTotalsView, UsageView } from "../../src/admin/reports/schema.ts";
import type { EntryView, ExchangeView } from "../../src/admin/requests/schema.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { ask, Traffic } from "./traffic.ts";

const token = "the-operators-token";
const operator = { authorization: `Bearer ${token}` };
const ranges = ["1h", "24h", "7d", "30d"] as const;
const groupings = ["day", "hour", "model", "provider", "key"] as const;

interface CliUsage {
  readonly data: readonly UsageTotalsView[];
  readonly total: UsageTotalsView;
}

interface Summary {
  readonly credits: { readonly used: number; readonly today_spend: number; readonly lifetime_spend: number };
  readonly tokens: { readonly used: number; readonly input: number; readonly output: number };
  readonly requests: { readonly total: number };
}

let provider: ScriptedProvider;
let sluice: Sluice;

/** What open streams would be charged after a crash. */
function journaledCharge(): number {
  using database = new Database(join(sluice.folder, "data", "sluice.db"), { readonly: true });
  const [row] = database
    .query<{ soFar: number | null }, []>("SELECT max(charge_so_far) AS soFar FROM holds")
    .all();
  return row?.soFar ?? 0;
}
let spender: TestKey;
let budget: TestKey;
let keys: readonly TestKey[];

beforeAll(async () => {
  provider = startProvider();
  const config = configFor({ url: provider.url });
  sluice = await startSluice({ config, env: { SLUICE_ADMIN_TOKEN: token } });
  spender = await sluice.createKey({ label: "spender" });
  budget = await sluice.createKey({ mode: "token_budget", label: "budget" });
  const hasty = await sluice.createKey({ label: "hasty", rpm: 1 });
  const poor = await sluice.createKey({ label: "poor", credit: 0.000001 });
  const revoked = await sluice.createKey({ label: "revoked" });
  keys = [spender, budget, hasty, poor, revoked];
  const traffic = new Traffic(sluice, provider);
  await traffic.completed(spender);
  await traffic.completedStream(spender);
  await traffic.completedAtSecondAttempt(spender);
  await traffic.failedBeforeContent(spender);
  await traffic.failedAfterContent(spender);
  await traffic.refusedByProvider(spender);
  await traffic.call(spender, { ...ask, model: "nobody's" });
  await traffic.cancelledAfterContent(spender);
  await traffic.cancelledBeforeContent(spender);
  await traffic.completed(budget);
  await traffic.cancelledAfterContent(budget);
  await traffic.completed(hasty);
  for (let call = 0; call < 3; call += 1) await traffic.call(hasty);
  await traffic.call(poor);
  await sluice.request(`/admin/api/v1/keys/${revoked.id}/revoke`, { headers: operator, body: {} });
  expect((await traffic.call(revoked)).status).toBe(401);
  provider.script(null);
  await waitFor(async () => (await total()).cancelled === 3, "everything to be written");
}, 120_000);

afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

async function api<Shape>(path: string): Promise<Shape> {
  const response = await sluice.request(`/admin/api/v1${path}`, { headers: operator });
  expect(response.status).toBe(200);
  return (await response.json()) as Shape;
}

async function total(): Promise<UsageTotalsView> {
  return (await api<UsageView>("/usage?by=model")).total;
}

/** Amounts as whole nano-credits, so that sums of fractions are compared exactly. */
function whole(figures: UsageTotalsView): Record<string, number | null> {
  const { spend, cancelled_spend, interrupted_spend, list_cost, cache_savings, error_rate } = figures;
  const counts: readonly (keyof UsageTotalsView)[] = [
    "recorded_requests",
    "completed",
    "failed",
    "rejected",
    "cancelled",
    "interrupted",
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "spend_tokens",
  ];
  return {
    ...Object.fromEntries(counts.map((name) => [name, figures[name]])),
    error_rate,
    ...nano({ spend, cancelled_spend, interrupted_spend, list_cost, cache_savings }),
  };
}

function nano(amounts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, credits]) => [name, Math.round(credits * 1e9)]),
  );
}

function summed(rows: readonly UsageTotalsView[]): Record<string, number | null> {
  const sum: Record<string, number | null> = {};
  for (const row of rows) {
    for (const [name, value] of Object.entries(whole(row))) sum[name] = (sum[name] ?? 0) + (value ?? 0);
  }
  const [completed, failed] = [sum["completed"] ?? 0, sum["failed"] ?? 0];
  return { ...sum, error_rate: completed + failed === 0 ? null : failed / (completed + failed) };
}

async function chargesOf(keyId?: string): Promise<readonly EntryView[]> {
  const flags = keyId === undefined ? [] : ["--key", keyId];
  const { stdout } = await sluice.cli("ledger", "export", "--format", "jsonl", ...flags);
  const entries = stdout.split("\n").filter((line) => line !== "");
  return entries.map((line) => JSON.parse(line) as EntryView).filter(({ kind }) => kind === "charge");
}

function charged(entries: readonly EntryView[]): number {
  return entries.reduce((sum, { amount }) => sum - amount, 0);
}

/** Every place that shows figures over all keys says the same. */
async function compareEverywhere(): Promise<void> {
  const expected = whole(await total());
  let first: OverviewView["totals"] | null = null;
  for (const range of ranges) {
    const overview = await api<OverviewView>(`/overview?range=${range}`);
    first ??= overview.totals;
    expect(overview.totals, range).toEqual(first);
    expect(whole(overview.totals), range).toEqual(expected);
    expect(summed(overview.points), `${range}, point by point`).toEqual(expected);
    expect(summed(overview.top_keys), `${range}, key by key`).toEqual(expected);
  }
  for (const by of groupings) {
    const view = await api<UsageView>(`/usage?by=${by}`);
    expect(whole(view.total), by).toEqual(expected);
    expect(summed(view.data), by).toEqual(expected);
    const recent = await sluice.cliJson<CliUsage>("usage", "--by", by, "--since", "1h");
    const week = await sluice.cliJson<CliUsage>("usage", "--by", by);
    for (const { total, data } of [recent, week]) {
      expect(whole(total), by).toEqual(expected);
      expect(summed(data), by).toEqual(expected);
    }
  }
  const listed = await sluice.cliJson<ExchangeView[]>("requests", "list", "--limit", "1000");
  for (const outcome of ["completed", "failed", "rejected", "cancelled", "interrupted"] as const) {
    const rows = listed.filter((exchange) => exchange.outcome === outcome);
    const counted = rows.reduce((sum, { alike }) => sum + 1 + alike, 0);
    expect([outcome, counted]).toEqual([outcome, expected[outcome] ?? 0]);
    const page = await api<{ data: ExchangeView[] }>(`/requests?outcome=${outcome}&limit=500`);
    expect(page.data.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  }
  const charges = await chargesOf();
  const tokens = new Set([budget.id]);
  expect(expected["spend"]).toBe(charged(charges.filter(({ key_id: id }) => !tokens.has(id))));
  expect(expected["spend_tokens"]).toBe(charged(charges.filter(({ key_id: id }) => tokens.has(id))));
  const ofCredit = listed.filter(({ unit }) => unit === "credits");
  expect(nano({ sum: ofCredit.reduce((sum, { charged }) => sum + charged, 0) })["sum"]).toBe(
    expected["spend"] ?? 0,
  );
  const audit = await sluice.cli("ledger", "audit");
  expect(audit.code, audit.stdout + audit.stderr).toBe(0);
}

/** Every place that shows a key's figures says the same. */
async function compareKey(key: TestKey): Promise<void> {
  const isCredit = key.mode === "credit";
  const since = "since=1970-01-01T00:00:00Z";
  const expected = (await api<UsageView>(`/usage?by=key&key=${key.id}&${since}`)).total;
  const rows = (await api<UsageView>("/usage?by=key")).data.filter(({ group }) => group === key.id);
  expect(summed(rows)).toEqual(rows.length === 0 ? {} : whole(expected));
  for (const by of groupings) {
    const report = await sluice.cliJson<CliUsage>("usage", "--by", by, "--key", key.prefix, "--since", "1h");
    expect(whole(report.total), by).toEqual(whole(expected));
  }
  const view = await api<KeyView>(`/keys/${key.id}`);
  const shown = await sluice.cliJson<KeyView>("keys", "show", key.id);
  for (const { recorded_requests, input_tokens, output_tokens, credit } of [view, shown]) {
    expect([recorded_requests, input_tokens, output_tokens]).toEqual([
      expected.recorded_requests,
      expected.input_tokens,
      expected.output_tokens,
    ]);
    if (isCredit) expect(nano({ used: credit?.used ?? -1 })).toEqual(nano({ used: expected.spend }));
  }
  expect(charged(await chargesOf(key.id))).toBe(
    isCredit ? Math.round(expected.spend * 1e9) : expected.spend_tokens,
  );
  // The others would be refused, which counts.
  if (key !== spender && key !== budget) return;
  const { credits, tokens, requests } = (await (
    await sluice.request("/v1/usage", { key })
  ).json()) as Summary;
  expect(requests.total).toBe(expected.recorded_requests);
  expect([tokens.input, tokens.output]).toEqual([expected.input_tokens, expected.output_tokens]);
  if (!isCredit) {
    expect(tokens.used).toBe(expected.spend_tokens);
    return;
  }
  const { spend } = expected;
  const { used, today_spend, lifetime_spend } = credits;
  expect(nano({ used, today_spend, lifetime_spend })).toEqual(
    nano({ used: spend, today_spend: spend, lifetime_spend: spend }),
  );
}

describe("the same traffic, told in many places", () => {
  test("is counted as it was sent", async () => {
    const figures = await total();
    expect(figures).toMatchObject({
      // Completed, and failed after content; no cancelled call is a request.
      recorded_requests: 6,
      completed: 5,
      failed: 2,
      // The provider's 400, an unknown model, three too fast, no credit, a revoked key.
      rejected: 7,
      cancelled: 3,
      interrupted: 0,
      error_rate: 2 / 7,
    });
    expect(figures.cancelled_spend).toBeGreaterThan(0);
    expect(figures.cancelled_spend).toBeLessThan(figures.spend);
  });

  test(
    "gives the same figures on every page, over every range and in every command",
    compareEverywhere,
    60_000,
  );

  test("gives the same figures of each key", async () => {
    for (const key of keys) await compareKey(key);
  }, 120_000);

  test("gives the same figures in the metrics", async () => {
    const text = await (await sluice.request("/metrics", { headers: operator })).text();
    const sum = (name: string, label = "") =>
      [...text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\S+)$`, "gm"))]
        .filter(([, labels]) => labels?.includes(label))
        .reduce((sum, [, , value]) => sum + Number(value), 0);
    const figures = await total();
    for (const outcome of ["completed", "failed", "rejected", "cancelled"] as const) {
      const counted = sum("sluice_request_outcomes_total", `outcome="${outcome}"`);
      expect([outcome, counted]).toEqual([outcome, figures[outcome]]);
    }
    expect(sum("sluice_tokens_total", 'kind="output"')).toBe(figures.output_tokens);
    expect(sum("sluice_tokens_total", 'input"')).toBe(figures.input_tokens);
    expect(sum("sluice_spend_credits_total")).toBeCloseTo(figures.spend, 9);
    expect(sum("sluice_spend_tokens_total")).toBe(figures.spend_tokens);
    expect(sum("sluice_list_cost_credits_total")).toBeCloseTo(figures.list_cost, 9);
    expect(text).toContain("sluice_request_log_dropped_total 0");
  });

  test("shows what a token budget's use would have cost, and ranks its key by it", async () => {
    const { top_keys } = await api<OverviewView>("/overview?range=1h");
    const row = top_keys.find(({ group }) => group === budget.id);
    const summary = (await (await sluice.request("/v1/usage", { key: budget })).json()) as Summary;
    // At 1 and 2 USD per million tokens; the cancelled call's tokens come on top of the recorded ones.
    const recorded = (summary.tokens.input + 2 * summary.tokens.output) / 1_000_000;
    expect(row?.spend).toBe(0);
    expect(row?.list_cost).toBeGreaterThan(recorded);
    const worth = top_keys.map(({ spend, list_cost }) => spend + list_cost);
    expect(worth).toEqual(worth.toSorted((a, b) => b - a));
    const names = top_keys.map(({ name }) => name);
    expect(names.indexOf("budget")).toBeLessThan(names.indexOf("poor"));
  });

  test("still does after a kill in the middle of a stream, which is charged as interrupted", async () => {
    const traffic = new Traffic(sluice, provider);
    const { id } = await traffic.stream(spender);
    const open = () => api<OverviewView>("/overview?range=1h");
    await waitFor(async () => (await open()).in_flight === 1, "the stream to be under way");
    // Only once what was produced has been journaled does a crash leave a charge.
    await waitFor(() => journaledCharge() > 0, "the stream's progress to be journaled");
    await sluice.kill9();
    await sluice.restart();
    const figures = await total();
    expect(figures).toMatchObject({ interrupted: 1, recorded_requests: 6 });
    expect(figures.interrupted_spend).toBeGreaterThan(0);
    await compareEverywhere();
    await compareKey(spender);
    const { stdout } = await sluice.cli("requests", "show", id);
    expect(stdout).toContain("The gateway process ended during the request.");
  }, 120_000);
});
