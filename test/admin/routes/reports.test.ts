import { describe, expect, test } from "bun:test";
import type { Page } from "../../../src/admin/formats/shapes.ts";
import type { IssuedKeyView, KeyList } from "../../../src/admin/key-terms/schema.ts";
import type { ModelCheckView, ModelView } from "../../../src/admin/models/schema.ts";
import type { OverviewView, UsageView } from "../../../src/admin/reports/schema.ts";
import type { ExchangeDetailView, ExchangeView, TailView } from "../../../src/admin/requests/schema.ts";
import type { AuditView, RouteView } from "../../../src/admin/system/schema.ts";
import { exchangeFacts } from "../../observe/fixtures.ts";
import { outcomeRecordOf, type SettleItem, settleItem } from "../../store/fixtures.ts";
import { upstreamKeys } from "../../support/config.ts";
import { waitFor } from "../../support/wait.ts";
import { type AdminServer, startAdmin, token, tracingSecret } from "./fixtures.ts";

const hourMs = 3_600_000;

/** Lets a key spend, so and so long ago. */
async function spend(
  admin: AdminServer,
  keyId: string,
  costNano: number,
  agoMs: number,
): Promise<SettleItem> {
  const atMs = admin.clock.wallMs() - agoMs;
  const item = settleItem(keyId, costNano, { atMs });
  if (item.record === null) throw new Error("the fixture has a record");
  const settled = { ...item, record: { ...item.record, atMs } };
  await admin.store.commit([settled]);
  return settled;
}

async function withSpender(admin: AdminServer): Promise<IssuedKeyView> {
  return await admin.post("/keys", { mode: "credit", credit: 10, label: "Spender" });
}

describe("the overview", () => {
  test("adds up a day by the hour, and compares it with the day before", async () => {
    await using admin = await startAdmin();
    const { id } = await withSpender(admin);
    await spend(admin, id, 2_000_000_000, 2 * hourMs);
    await spend(admin, id, 500_000_000, 30 * hourMs);
    // Of the day before that nothing counts.
    await spend(admin, id, 250_000_000, 49 * hourMs);
    const overview = await admin.json<OverviewView>("/overview?range=24h");
    expect(overview).toMatchObject({ since: "2026-11-14T12:01:00.000Z", until: "2026-11-15T12:01:00.000Z" });
    expect(overview.points.length).toBe(25);
    expect(overview.totals).toMatchObject({ recorded_requests: 1, spend: 2, failed: 0 });
    expect(overview.before).toMatchObject({ recorded_requests: 1, spend: 0.5 });
    const spent = overview.points.filter((point) => point.spend > 0);
    expect(spent.map(({ at, spend }) => [at, spend])).toEqual([[Date.UTC(2026, 10, 15, 10) / 1000, 2]]);
    expect(overview.top_models[0]).toMatchObject({ group: "house-model", spend: 2 });
  });

  test("of a day has a call of that age, and not one that is a minute older", async () => {
    await using admin = await startAdmin();
    const { id } = await withSpender(admin);
    await spend(admin, id, 2_000_000_000, 24 * hourMs - 60_000);
    await spend(admin, id, 1_000_000_000, 24 * hourMs);
    const [day, month] = [
      await admin.json<OverviewView>("/overview?range=24h"),
      await admin.json<OverviewView>("/overview?range=30d"),
    ];
    expect(day.totals.spend).toBe(2);
    expect(day.points[0]).toMatchObject({ at: Date.UTC(2026, 10, 14, 12) / 1000, spend: 2 });
    expect(day.before.spend).toBe(1);
    expect(day.top_keys[0]).toMatchObject({ group: id, spend: 2 });
    expect(month.totals.spend).toBe(3);
    const { since, until } = day;
    for (const asked of [`since=${since}&until=${until}`, "since=24h", "since=24h&until=now"]) {
      const usage = await admin.json<UsageView>(`/usage?by=model&${asked}`);
      expect(usage).toMatchObject({ since, until, total: { spend: 2 } });
    }
  });

  test("shows the last hour by the minute, with the endings that cost nothing", async () => {
    await using admin = await startAdmin();
    const { id } = await withSpender(admin);
    await spend(admin, id, 1_000_000_000, 600_000);
    await spend(admin, id, 250_000_000, 0);
    const atMs = admin.clock.wallMs();
    const failed = { outcome: "failed", status: 502, code: "upstream_error" } as const;
    await admin.store.recordOutcomes([
      outcomeRecordOf(id, { atMs, ...failed }),
      outcomeRecordOf(id, { atMs, alike: 6 }),
    ]);
    const overview = await admin.json<OverviewView>("/overview?range=1h");
    expect(overview.points.length).toBe(60);
    const counts = {
      recorded_requests: 2,
      completed: 2,
      failed: 1,
      rejected: 7,
      error_rate: 1 / 3,
    };
    expect(overview.totals).toMatchObject({ ...counts, spend: 1.25 });
    expect(overview.points.at(-1)).toMatchObject({
      recorded_requests: 1,
      failed: 1,
      rejected: 7,
      spend: 0.25,
    });
    expect(overview.points.at(-11)).toMatchObject({ recorded_requests: 1, spend: 1 });
    const day = await admin.json<OverviewView>("/overview?range=24h");
    expect(day.totals).toEqual(overview.totals);
  });
});

describe("usage", () => {
  test("comes by day, model and key, and for one key", async () => {
    await using admin = await startAdmin();
    const { id, prefix } = await withSpender(admin);
    await spend(admin, id, 3_000_000_000, hourMs);
    for (const by of ["day", "hour", "model", "provider"]) {
      for (const ofKey of ["", `&key=${prefix}`]) {
        const { data } = await admin.json<UsageView>(`/usage?by=${by}${ofKey}`);
        expect(data.map((row) => [row.recorded_requests, row.spend])).toEqual([[1, 3]]);
      }
    }
  });

  test("comes by several at once, as the command groups it, and null is a group", async () => {
    await using admin = await startAdmin();
    const { id } = await withSpender(admin);
    await spend(admin, id, 3_000_000_000, hourMs);
    const { by, data, total } = await admin.json<UsageView>("/usage?by=key,owner");
    expect(by).toBe("key,owner");
    expect(data).toMatchObject([{ group: null, groups: { key: id, owner: null }, spend: 3 }]);
    expect(total.spend).toBe(3);
    const account = (await admin.json<UsageView>("/usage?by=account")).data[0]?.group ?? "";
    expect((await admin.json<UsageView>(`/usage?by=day,model&account=${account}`)).total.spend).toBe(3);
    expect((await admin.json<UsageView>("/usage?by=owner")).data).toMatchObject([
      { group: null, name: "none" },
    ]);
    for (const wrong of ["week", "key,key", "model:x"]) {
      expect((await admin.call(`/usage?by=${wrong}`)).status).toBe(400);
    }
  });
});

describe("times", () => {
  test("are written as at the command line, and anything else is refused in words", async () => {
    await using admin = await startAdmin();
    const { id } = await withSpender(admin);
    await spend(admin, id, 3_000_000_000, 24 * hourMs);
    const spent = async (range: string) => (await admin.json<UsageView>(`/usage?${range}`)).total.spend;
    expect(await spent("since=yesterday&until=today")).toBe(3);
    expect(await spent("since=2026-11")).toBe(3);
    expect(await spent("since=today")).toBe(0);
    expect((await admin.json<Page<ExchangeView>>("/requests?since=yesterday")).data).toHaveLength(1);
    expect((await admin.json<Page<ExchangeView>>("/requests?since=2h")).data).toHaveLength(0);
    const wrong = await admin.call("/usage?since=last+week");
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toContain("a duration such as 7d or 24h");
    expect((await admin.call("/usage?since=1h&until=2h")).status).toBe(400);
  });
});

describe("exchanges", () => {
  test("are listed, filtered and shown with what they cost", async () => {
    await using admin = await startAdmin();
    const { id, prefix } = await withSpender(admin);
    const older = await spend(admin, id, 1_000_000, hourMs);
    const newer = await spend(admin, id, 2_000_000, 0);
    const page = await admin.json<Page<ExchangeView>>(`/requests?key=${prefix}&limit=1`);
    expect(page.data.map((one) => [one.id, one.cost])).toEqual([[newer.holdId, 0.002]]);
    const rest = await admin.json<Page<ExchangeView>>(`/requests?cursor=${page.next_cursor}`);
    expect(rest.data.map((one) => one.id)).toEqual([older.holdId]);
    expect((await admin.json<Page<ExchangeView>>("/requests?model=other")).data).toEqual([]);
    const detail = await admin.json<ExchangeDetailView>(`/requests/${older.holdId}`);
    expect(detail.request).toMatchObject({ key_label: "Spender", model: "house-model", basis: "measured" });
    expect(detail.entries).toMatchObject([{ kind: "charge", amount: -0.001, unit: "credits" }]);
    expect((await admin.call("/requests/req_unknown")).status).toBe(404);
  });

  test.each(["project", "=atlas"])("are not looked for by half a tag: %s", async (tag) => {
    await using admin = await startAdmin();
    const response = await admin.call(`/requests?tag=${encodeURIComponent(tag)}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("A tag must be a name and a value, such as project=atlas");
  });

  test("are tailed as they end, with the last ones first", async () => {
    await using admin = await startAdmin();
    admin.deps.live.observe(exchangeFacts({ requestId: "req_before" }));
    const response = await admin.call("/tail");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    admin.deps.live.observe(exchangeFacts({ requestId: "req_live", mode: "token_budget", charged: 130 }));
    const lines: TailView[] = [];
    let text = "";
    for await (const piece of response.body ?? []) {
      text += new TextDecoder().decode(piece);
      lines.splice(
        0,
        lines.length,
        ...[...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? "")),
      );
      if (lines.length === 2) break;
    }
    expect(lines.map(({ id, charged, unit }) => [id, charged, unit])).toEqual([
      ["req_before", 2.5, "credits"],
      ["req_live", 130, "tokens"],
    ]);
  });
});

describe("what the API tells of the gateway", () => {
  test("holds no secret: neither the config, nor the models, nor the metrics", async () => {
    await using admin = await startAdmin();
    const { key: secret } = await withSpender(admin);
    const texts: string[] = [];
    for (const path of ["/config", "/models", "/health", "/audit", "/keys", "/openapi.json"]) {
      texts.push(await (await admin.call(path)).text());
    }
    const headers = { authorization: `Bearer ${token}` };
    const metrics = await fetch(`${admin.url}/metrics`, { headers });
    expect(metrics.headers.get("content-type")).toContain("text/plain; version=0.0.4");
    texts.push(await metrics.text());
    for (const canary of [...Object.values(upstreamKeys), token, tracingSecret, secret]) {
      expect(texts.some((text) => text.includes(canary))).toBeFalse();
    }
    expect(texts[0]).toContain('"authorization":"********"');
  });

  test("lists every model with its deployments, healthy until told otherwise", async () => {
    await using admin = await startAdmin();
    const { data } = await admin.json<Page<ModelView>>("/models");
    expect(data.map((model) => model.id)).toEqual(admin.deps.settings().models.map((model) => model.id));
    expect(data[0]?.deployments[0]?.health.state).toBe("closed");
    expect(data[0]?.deployments[0]?.dialects).toEqual(["chat", "responses"]);
    expect(data[0]?.price).toMatchObject({ input: 1, output: 2 });
  });

  test("asks each deployment of a model for a few tokens, as the gateway would, and says who did", async () => {
    await using admin = await startAdmin();
    const { data } = await admin.post<{ data: ModelCheckView[] }>("/models/check", { model: "gpt-test" });
    const deployments = admin.deps.settings().models.find(({ id }) => id === "gpt-test")?.deployments ?? [];
    expect(data.map(({ provider }) => provider)).toEqual(deployments.map(({ provider }) => provider));
    for (const check of data) {
      expect(check).toMatchObject({ ok: false, status: null });
      expect(check.problem).toStartWith("cannot be reached");
    }
    const all = await admin.post<{ data: ModelCheckView[] }>("/models/check");
    expect(all.data).toHaveLength(admin.deps.settings().providers.size);
    const body = JSON.stringify({ model: "nobody's" });
    expect((await admin.call("/models/check", { method: "POST", body })).status).toBe(404);
    const { data: changes } = await admin.json<Page<AuditView>>("/audit");
    expect(changes.map(({ action, target, detail }) => [action, target, detail])).toEqual([
      ["models.check", null, `0 of ${all.data.length} OK`],
      ["models.check", "gpt-test", `0 of ${data.length} OK`],
    ]);
  });

  test("draws a spark line of what a key spent", async () => {
    await using admin = await startAdmin();
    const { id } = await withSpender(admin);
    await spend(admin, id, 4_000_000_000, 0);
    const spark = async () => (await admin.json<KeyList>("/keys")).data[0]?.recent ?? [];
    await waitFor(async () => (await spark()).at(-1) === 4, "the day's sum to be written");
    expect((await spark()).length).toBe(14);
  });
});

test("the routes that clients call are told with the mode and the dialect of each", async () => {
  await using admin = await startAdmin();
  const { data } = await admin.json<{ data: RouteView[] }>("/routes");
  const generating = data.filter(({ dialect }) => dialect !== null);
  expect(generating.map(({ path, mode, dialect }) => `${dialect} ${mode} ${path}`)).toEqual([
    "chat credit /v1/chat/completions",
    "chat token_budget /token/v1/chat/completions",
    "responses credit /v1/responses",
    "responses token_budget /token/v1/responses",
    "messages credit /v1/messages",
    "messages token_budget /token/v1/messages",
    "gemini credit /v1beta/*",
    "gemini token_budget /token/v1beta/*",
    "gemini credit /v1alpha/*",
    "gemini token_budget /token/v1alpha/*",
    "gemini credit /v1/models/*",
    "gemini token_budget /token/v1/models/*",
    "gemini credit /v1beta1/*",
    "gemini token_budget /token/v1beta1/*",
    "gemini credit /v1/projects/*",
    "gemini token_budget /token/v1/projects/*",
    "gemini credit /v1/publishers/*",
    "gemini token_budget /token/v1/publishers/*",
  ]);
  expect(data.map(({ path }) => path)).toContain("/token/v1/messages/count_tokens");
});
