import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { UsageTotalsView } from "../../src/admin/reports/schema.ts";
import type { AttemptView, ExchangeDetailView, ExchangeView } from "../../src/admin/requests/schema.ts";
import { openAiError, silence } from "../support/answers.ts";
import { configFor, upstreamKeys } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { ask, Traffic } from "./traffic.ts";

const token = "the-operators-token";
const canary = "canary-prompt";

let provider: ScriptedProvider;
let sluice: Sluice;
let traffic: Traffic;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  const config = configFor({ url: provider.url });
  sluice = await startSluice({ config, env: { SLUICE_ADMIN_TOKEN: token } });
  traffic = new Traffic(sluice, provider);
  key = await sluice.createKey({ label: "laptop" });
});

afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

interface Shown extends Omit<ExchangeView, "attempts"> {
  readonly settle_ms: number | null;
  readonly explanation: string;
  readonly attempts: readonly AttemptView[];
  readonly entries: readonly { readonly kind: string; readonly amount: number }[];
}

/** The request as the command shows it; the admin API must return the same. */
async function show(id: string): Promise<Shown> {
  await waitFor(async () => (await sluice.cli("requests", "show", id)).code === 0, `${id} to be kept`);
  const shown = await sluice.cliJson<ExchangeDetailView>("requests", "show", id);
  const headers = { authorization: `Bearer ${token}` };
  const response = await sluice.request(`/admin/api/v1/requests/${id}`, { headers });
  const detail = (await response.json()) as ExchangeDetailView;
  expect<ExchangeDetailView>(detail).toEqual(shown);
  return flat(shown);
}

function flat({ request, ...rest }: ExchangeDetailView): Shown {
  if (request === null) throw new Error(`${rest.id} has only its ledger entries`);
  return { ...request, ...rest };
}

describe("an exchange is explained", () => {
  test("that failed at every attempt, with what the provider said", async () => {
    const shown = await show(await traffic.failedBeforeContent(key));
    expect(shown).toMatchObject({ outcome: "failed", status: 502, code: "upstream_error", entry: null });
    const message = "the model is on fire";
    const failed = { deployment: "openai/gpt-upstream", status: 500, provider_message: message };
    expect(shown.attempts).toMatchObject([
      { ...failed, next: "retry" },
      { ...failed, next: null },
    ]);
    expect(shown.explanation).toContain("It failed with 502 upstream_error");
    expect(shown.explanation).toContain("openai/gpt-upstream returned 500");
    expect(shown.explanation).toContain("“the model is on fire”");
    expect(shown.explanation).toContain("Nothing was charged.");
    const { stdout } = await sluice.cli("requests", "show", shown.id);
    expect(stdout).toContain(shown.explanation);
    expect(stdout).toContain("laptop");
  });

  test("that broke off after it had begun, with its charge", async () => {
    const shown = await show(await traffic.failedAfterContent(key));
    expect(shown).toMatchObject({
      outcome: "failed",
      status: 200,
      attempts: [{ failure: "interrupted_response" }],
    });
    expect(shown.explanation).toContain("The response was interrupted");
    expect(shown.entries).toMatchObject([{ kind: "charge" }]);
    expect(shown.charged).toBeGreaterThan(0);
    expect(shown.charged).toBe(-(shown.entries[0]?.amount ?? 0));
  });

  test("that the provider refused", async () => {
    const shown = await show(await traffic.refusedByProvider(key));
    expect(shown).toMatchObject({ outcome: "rejected", status: 400, code: "invalid_request" });
    expect(shown.attempts).toMatchObject([{ status: 400, provider_message: "temperature must be below 2" }]);
    expect(shown.explanation).toContain("It was rejected with 400 invalid_request");
  });

  test("that the client left", async () => {
    const shown = await show(await traffic.cancelledAfterContent(key));
    expect(shown).toMatchObject({ outcome: "cancelled", code: null });
    expect(shown.explanation).toMatch(
      /^The client disconnected after .*\. The output produced by then was charged\./,
    );
    expect(shown.entries).toMatchObject([{ kind: "charge" }]);
  });

  test("that completed only at the second attempt", async () => {
    const shown = await show(await traffic.completedAtSecondAttempt(key));
    expect(shown).toMatchObject({
      outcome: "completed",
      status: 200,
      attempts: [
        { status: 500, provider_message: "not today", next: "retry" },
        { status: 200, failure: null },
      ],
    });
    expect(shown.explanation).toStartWith("It completed at attempt 2.");
  });

  test("that no provider could be reached for", async () => {
    const config = configFor({ url: "http://127.0.0.1:1" });
    await using unreachable = await startSluice({ config });
    const lost = await unreachable.createKey();
    const response = await unreachable.request("/v1/chat/completions", { key: lost, body: ask });
    const id = response.headers.get("x-request-id") ?? "";
    await waitFor(async () => (await unreachable.cli("requests", "show", id)).code === 0, "it to be kept");
    const shown = flat(await unreachable.cliJson<ExchangeDetailView>("requests", "show", id));
    expect(shown).toMatchObject({ outcome: "failed", status: 502, code: "provider_unavailable" });
    expect(shown.explanation).toContain("sent no response within");
    expect(shown.explanation).toContain("`sluice models check`");
  });

  test("that took longer than it may, by what says how long that is", async () => {
    provider.script(silence());
    const config = configFor({ url: provider.url, head: '[server]\nrequest_timeout = "1s"' });
    await using hasty = await startSluice({ config });
    const response = await hasty.request("/v1/chat/completions", { key: await hasty.createKey(), body: ask });
    const id = response.headers.get("x-request-id") ?? "";
    await waitFor(async () => (await hasty.cli("requests", "show", id)).code === 0, "it to be kept");
    provider.script(null);
    const { explanation } = await hasty.cliJson<ExchangeDetailView>("requests", "show", id);
    expect(explanation).toMatch(/sent no response within .* \(timeout\)/);
    expect(explanation).toContain("`server.request_timeout`");
    expect(explanation).not.toContain("base_url");
  });

  const refusals = [
    { why: "too fast", options: { rpm: 1 }, calls: 2, code: "rate_limit_exceeded", status: 429 },
    {
      why: "without credit",
      options: { credit: 0.000001 },
      calls: 1,
      code: "insufficient_credit",
      status: 402,
    },
    {
      why: "beyond its budget",
      options: { mode: "token_budget", budget: 1 },
      calls: 1,
      code: "insufficient_credit",
      status: 402,
    },
    {
      why: "of another provider",
      options: { provider: "anthropic" },
      calls: 1,
      code: "key_disabled",
      status: 403,
    },
  ] as const;
  test.each(refusals)("that was refused: $why", async ({ options, calls, code, status }) => {
    provider.script(null);
    const refused = await sluice.createKey(options);
    let id = "";
    for (let call = 0; call < calls; call += 1) id = (await traffic.call(refused)).id;
    const asked = provider.requests.length;
    const shown = await show(id);
    expect(shown).toMatchObject({
      outcome: "rejected",
      status,
      code,
      key_id: refused.id,
      attempts: [],
      entries: [],
    });
    expect(shown.explanation).toStartWith(`It was rejected with ${status} ${code}: `);
    expect(shown.explanation).toContain("No provider was called.");
    expect(shown.message?.length).toBeGreaterThan(10);
    expect(shown.message).not.toContain(" 1 requests ");
    expect(provider.requests.length).toBe(asked);
  });

  test.each(["revoke", "suspend", "disable"] as const)(
    "that was refused for a key after %s",
    async (change) => {
      const refused = await sluice.createKey();
      const headers = { authorization: `Bearer ${token}` };
      await sluice.request(`/admin/api/v1/keys/${refused.id}/${change}`, { headers, body: {} });
      const { id, status } = await traffic.call(refused);
      expect(await show(id)).toMatchObject({ outcome: "rejected", status, key_id: refused.id });
    },
  );

  test("that was refused for its model, with the model's name", async () => {
    const scoped = await sluice.createKey({ provider: "anthropic" });
    const shown = await show((await traffic.call(scoped)).id);
    expect(shown).toMatchObject({ code: "key_disabled", model: "gpt-test" });
    expect(shown.explanation).toContain('This key cannot use model "gpt-test"');
    expect(shown.explanation).toContain(`\`sluice keys update ${scoped.prefix} --provider all\``);
  });

  test("that was refused for a key that is disabled, with how to enable it", async () => {
    const disabled = await sluice.createKey();
    await sluice.cli("keys", "disable", disabled.id);
    await waitFor(async () => (await traffic.call(disabled)).status === 403, "the key to be disabled");
    const shown = await show((await traffic.call(disabled)).id);
    expect(shown.explanation).toContain(`\`sluice keys enable ${disabled.prefix}\``);
  });

  test("that a budget was too small for, without talk of topping it up", async () => {
    const small = await sluice.createKey({ mode: "token_budget", budget: 1 });
    const { explanation } = await show((await traffic.call(small)).id);
    expect(explanation).toContain(`\`sluice keys update ${small.prefix} --budget 4171\``);
    expect(explanation).not.toMatch(/top ?up/);
  });

  test("that met a provider's pause, with the pause and where to read why", async () => {
    const paused = startProvider(openAiError(429, "too many", null, { "retry-after": "60" }));
    await using resting = await startSluice({ config: configFor({ url: paused.url }) });
    const own = await resting.createKey();
    const call = () => resting.request("/v1/chat/completions", { key: own, body: ask });
    await (await call()).text();
    const response = await call();
    const asked = paused.requests.length;
    const { error } = (await response.json()) as { error: { message: string } };
    expect(response.status).toBe(503);
    expect(error.message).toMatch(
      /^All providers of this model are rate limiting the gateway\. Retry in \d+ s\./,
    );
    const id = response.headers.get("x-request-id") ?? "";
    await waitFor(async () => (await resting.cli("requests", "show", id)).code === 0, "it to be kept");
    const { explanation } = await resting.cliJson<ExchangeDetailView>("requests", "show", id);
    expect(explanation).toContain("are rate limiting the gateway");
    expect(explanation).toContain("See the failures just before it for the provider's error");
    expect(paused.requests.length).toBe(asked);
    paused.stop();
  });

  test("to the second, and without figures where there is no usage record", async () => {
    const id = await traffic.cancelledAfterContent(key);
    const { at, ended_at } = await show(id);
    const { stdout } = await sluice.cli("requests", "show", id);
    for (const time of [at, ended_at]) expect(stdout).toContain(time.slice(0, 19).replace("T", " "));
    expect(stdout).toMatch(/tokens +– +no usage record/);
    const list = await sluice.cli("requests", "list", "--key", key.id);
    expect(list.stdout).toContain(ended_at.slice(0, 19).replace("T", " "));
  });

  test("that used a key at the other origin", async () => {
    const response = await sluice.request("/v1/chat/completions", { key, origin: "/token", body: ask });
    const shown = await show(response.headers.get("x-request-id") ?? "");
    expect(shown).toMatchObject({ outcome: "rejected", status: 401, route: "/token/v1/chat/completions" });
  });
});

describe("what is kept", () => {
  test("can be listed by key, outcome, code and time", async () => {
    const own = await sluice.createKey({ label: "listed" });
    const failed = await traffic.failedBeforeContent(own);
    const refused = (await traffic.call(own, { ...ask, model: "nobody's" })).id;
    await traffic.completed(own);
    await show(refused);
    const list = async (...flags: string[]) =>
      (await sluice.cliJson<ExchangeView[]>("requests", "list", "--key", own.prefix, ...flags)).map(
        ({ id }) => id,
      );
    expect(await list("--outcome", "failed")).toEqual([failed]);
    expect(await list("--code", "model_not_found")).toEqual([refused]);
    expect((await list("--since", "1h")).slice(1)).toEqual([refused, failed]);
    expect(await list("--since", "2999-01-01")).toEqual([]);
    expect((await list("--limit", "1")).length).toBe(1);
    const { stdout } = await sluice.cli("requests", "list", "--key", own.id, "--outcome", "failed");
    expect(stdout).toContain(failed);
    expect(stdout).toContain("upstream_error");
    const completed = await sluice.cli("requests", "list", "--key", own.id, "--outcome", "completed");
    expect(completed.stdout).toMatch(/completed +200 +– +<0\.0001 cr +\d/);
  });

  test("says so when there is nothing of the id", async () => {
    const { code, stderr } = await sluice.cli("requests", "show", "req_nobody");
    expect(code).toBe(1);
    expect(stderr).toContain("request req_nobody not found");
  });

  test("holds no secret, no prompt and no answer, and cuts what a provider says", async () => {
    const message = `${upstreamKeys.TEST_OPENAI_KEY} is wrong. ${"x".repeat(2000)}`;
    provider.script(openAiError(500, message));
    const { id } = await traffic.call(key, { ...ask, messages: [{ role: "user", content: canary }] });
    const { attempts } = await show(id);
    expect(attempts[0]?.provider_message?.length).toBeLessThanOrEqual(500);
    await traffic.completed(key);
    await sluice.cli("backup", join(sluice.folder, "copy.db"));
    const kept = readdirSync(join(sluice.folder, "data"), { withFileTypes: true });
    const files = kept.filter((entry) => entry.isFile()).map(({ name }) => join(sluice.folder, "data", name));
    for (const file of [...files, join(sluice.folder, "copy.db")]) {
      if (!existsSync(file)) continue;
      const bytes = readFileSync(file, "latin1");
      for (const secret of [canary, "Sluices keep the canal", key.key, ...Object.values(upstreamKeys)]) {
        expect(bytes.includes(secret), `${file} has ${secret}`).toBeFalse();
      }
    }
  });

  test("survives a kill right after the refusal was written", async () => {
    const refused = (await traffic.call(key, { ...ask, model: "nobody's" })).id;
    await show(refused);
    await sluice.kill9();
    await sluice.restart();
    expect(await show(refused)).toMatchObject({ outcome: "rejected", code: "model_not_found" });
  });
});

test("a client in a loop is counted to the last refusal and fills neither the list nor the disk", async () => {
  const hasty = await sluice.createKey({ rpm: 1, label: "hasty" });
  provider.script(null);
  const calls = 3_000;
  for (let sent = 0; sent < calls; sent += 50) {
    await Promise.all(Array.from({ length: 50 }, () => traffic.call(hasty)));
  }
  const counted = async () => {
    const { total } = await sluice.cliJson<{ total: UsageTotalsView }>("usage", "--key", hasty.id);
    return total.rejected + total.completed;
  };
  await waitFor(async () => (await counted()) === calls, "the last window to be written");
  const rows = await sluice.cliJson<ExchangeView[]>("requests", "list", "--key", hasty.id, "--limit", "5000");
  expect(rows.reduce((sum, { alike }) => sum + 1 + alike, 0)).toBe(calls);
  expect(rows.length).toBeLessThan(calls);
}, 120_000);
