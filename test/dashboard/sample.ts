import { createAccount } from "../../src/admin/accounts/accounts.ts";
import { systemClock } from "../../src/base/clock.ts";
import { newId } from "../../src/base/id.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { periodStart } from "../../src/base/money/period.ts";
import { makeRates, type Rates } from "../../src/base/money/rates.ts";
import { noUsage } from "../../src/base/usage/usage.ts";
import { type IssuedKey, issueKey, type KeySpec } from "../../src/keys/issue.ts";
import { openStore } from "../../src/store/open.ts";
import type { JournalItem, KeyRecord, OutcomeRecord } from "../../src/store/store.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";
import { Sluice } from "../support/sluice.ts";

/** Names that look like a company's, all answered by the built-in demo. */
export const sampleConfig = `
[content]
record_upstream = true

[providers.openai]
kind = "demo"
[providers.anthropic]
kind = "demo"
[providers.together]
kind = "demo"

[[models]]
id = "gpt-5.6"
provider = "openai"
display_name = "GPT-5.6"
context_window = 400000
max_output_tokens = 128000
price = { input = 1.25, output = 10.0, cached_input = 0.125 }
capabilities = { tools = true, vision = true, reasoning = true }

[[models]]
id = "claude-opus-5"
aliases = ["opus", "claude-opus-latest"]
provider = "anthropic"
display_name = "Claude Opus 5"
context_window = 1000000
max_output_tokens = 128000
price = { input = 5.0, output = 25.0, cached_input = 0.5, cache_write = 6.25, cache_write_1h = 10.0, long_context = { above = 200000, input = 10.0, output = 37.5 }, web_search = 10.0, web_fetch = 0.0, tool_search = 0.0, tiers = { priority = { input = 10.0, output = 50.0 }, flex = { input = 2.5, output = 12.5 } } }
capabilities = { tools = true, vision = true, reasoning = true }

[[models]]
id = "house-model"
display_name = "House model"
context_window = 400000
max_output_tokens = 64000
public = false
capabilities = { tools = true }
price = { input = 0.4, output = 1.6 }
fallbacks = ["gpt-5.6"]
[[models.deployments]]
provider = "together"
upstream_model = "llama-4-maverick"
dialect = "chat"
priority = 1
weight = 3
[[models.deployments]]
provider = "openai"
upstream_model = "gpt-5.6-mini"
priority = 2
`;

const people = [
  "Claude Code, platform team",
  "Support assistant",
  "Nightly evals",
  "Mobile app",
  "Search",
  "Sandbox",
];
const owners = ["ada@example.com", "Search team"];
const models = [
  { model: "gpt-5.6", provider: "openai", route: "/v1/responses", nanoPerToken: 4000 },
  { model: "claude-opus-5", provider: "anthropic", route: "/v1/messages", nanoPerToken: 9000 },
  { model: "house-model", provider: "together", route: "/v1/chat/completions", nanoPerToken: 700 },
] as const;

const days = 31;
const minutesBetween = 6;

/** A gateway with a month of a small company's traffic, quiet at night; the same every time but for the clock. */
export function startSample(
  token: string,
  config = sampleConfig,
  env: Readonly<Record<string, string>> = {},
): Promise<Sluice> {
  return Sluice.start({ config, env: { SLUICE_ADMIN_TOKEN: token, ...env }, fill: (dir) => fillSample(dir) });
}

/** The share of calls that fail. */
const usualFailures = 0.012;

export async function fillSample(dir: string, clock = systemClock, failures = usualFailures): Promise<void> {
  const store = await openStore({ dir, clock, role: "gateway" });
  try {
    const context = { store, clock };
    const { account } = await createAccount(context, {
      mode: "credit",
      label: "Product teams",
      isPostpaid: true,
      caps: [
        { amount: 400, period: "month", models: null },
        { amount: 4, period: "day", models: "claude-*" },
      ],
      keyCaps: [{ amount: 12, period: "day", models: null }],
    });
    await createAccount(context, {
      mode: "token_budget",
      label: "Biology 101",
      budgetTokens: 20_000_000,
      keyCaps: [{ amount: 200_000, period: "day", models: null }],
    });
    const issued: IssuedKey[] = [];
    for (const [place, label] of people.entries()) {
      const payer =
        place === 2
          ? { mode: "token_budget", budgetTokens: 20_000_000, period: "month" }
          : place === 3 || place === 4
            ? { mode: "credit", accountId: account.id, caps: account.keyCaps, owner: owners[place - 3] }
            : { mode: "credit", creditNano: 500 * nanoPerCredit, rpmLimit: place === 0 ? 600 : null };
      issued.push(await issueKey(store, clock, { label, ...(payer as Omit<KeySpec, "label">) }));
    }
    await store.updateKey(issued[5]?.key.id ?? "", { status: "suspended" });
    await store.commit(
      history(
        issued.map(({ key }) => key),
        clock.wallMs(),
        failures,
      ),
    );
  } finally {
    await store.close();
  }
}

function history(keys: readonly KeyRecord[], nowMs: number, failures: number): JournalItem[] {
  const random = seededRandom(7);
  const items: JournalItem[] = [];
  for (let atMs = nowMs - days * 86_400_000; atMs < nowMs; atMs += minutesBetween * 60_000) {
    const hour = new Date(atMs).getUTCHours();
    const busy = 1.2 + Math.sin(((hour - 8) / 24) * 2 * Math.PI);
    for (let call = random.next() * 3 * busy; call > 0.6; call -= 1)
      items.push(exchange(keys, random, atMs, failures));
    if (random.next() < 0.05) items.push(refusals(keys[2] ?? (keys[0] as KeyRecord), atMs, random.below(8)));
  }
  return items;
}

function ratesOf(nanoPerToken: number): Rates {
  const input = nanoPerToken * 1000;
  return makeRates({
    microUsdPerCredit: 1_000_000,
    picoUsd: { input, cached_input: 0, output: 4 * input },
    tiers: [],
    inputAbove: null,
  });
}

export function exchange(
  keys: readonly KeyRecord[],
  random: SeededRandom,
  atMs: number,
  failures = usualFailures,
): JournalItem {
  const key = keys[Math.floor(random.next() ** 1.7 * keys.length)] ?? (keys[0] as KeyRecord);
  const { nanoPerToken, ...where } = models[Math.floor(random.next() ** 1.4 * models.length)] ?? models[0];
  const usage = {
    ...noUsage,
    inputTokens: 300 + Math.floor(random.next() * 5000),
    cachedInputTokens: Math.floor(random.next() * 3000),
    outputTokens: 80 + Math.floor(random.next() * 1400),
  };
  const tokens = usage.inputTokens + usage.cachedInputTokens + usage.outputTokens;
  const priceNano = Math.ceil((usage.inputTokens + 4 * usage.outputTokens) * nanoPerToken);
  const charged = key.mode === "credit" ? priceNano : tokens;
  const failed = random.next() < failures;
  const exchangeId = newId("req_");
  const outcome = failed ? "failed" : "completed";
  const firstByteMs = 120 + 900 * random.next() ** 3;
  const shared = { keyId: key.id, exchangeId, atMs, basis: "measured", outcome } as const;
  return {
    kind: "settle",
    holdId: exchangeId,
    hasRow: false,
    charge: {
      ...shared,
      ...where,
      charged,
      owed: 0,
      overrun: 0,
      accountId: key.accountId,
      countedAtMs: atMs,
      periodStartMs: periodStart(key.period, atMs),
      requestedModel: null,
      labels: null,
      rates: ratesOf(nanoPerToken),
      quantities: {
        input: usage.inputTokens,
        cached_input: usage.cachedInputTokens,
        output: usage.outputTokens,
      },
      listCostNano: key.mode === "credit" ? null : priceNano,
    },
    record: {
      ...shared,
      ...where,
      upstreamModel: where.model,
      stream: random.next() < 0.8,
      status: failed ? 502 : 200,
      usage,
      costNano: key.mode === "credit" ? charged : 0,
      firstByteMs,
      totalMs: firstByteMs + usage.outputTokens * (4 + 4 * random.next()),
      attempts: 1,
    },
    response: null,
    outcomeRecord: failed ? failure(key, { exchangeId, atMs, ...where }) : null,
  };
}

interface Where {
  readonly exchangeId: string;
  readonly atMs: number;
  readonly model: string;
  readonly provider: string;
  readonly route: string;
}

/** A provider that broke off in the middle of its answer. */
function failure(key: KeyRecord, { exchangeId, atMs, model, provider, route }: Where): OutcomeRecord {
  const overloaded = {
    deployment: `${provider}/${model}`,
    provider,
    upstreamModel: model,
    status: 529,
    code: "service_unavailable",
    failure: "status_529",
    cause: null,
    said: "Overloaded: the model is serving more requests than it can; try again in a moment.",
    durationMs: 412,
    left: "retry",
  } as const;
  return {
    exchangeId,
    keyId: key.id,
    atMs,
    startedAtMs: atMs - 2_400,
    route,
    model,
    provider,
    upstreamModel: model,
    stream: true,
    outcome: "failed",
    status: 200,
    code: "upstream_error",
    message: "The provider's stream broke off before its end.",
    firstByteMs: 900,
    totalMs: 2_400,
    attempts: 2,
    attemptDetails: [
      overloaded,
      {
        ...overloaded,
        status: 200,
        code: "upstream_error",
        failure: "interrupted_response",
        said: null,
        left: "ended",
      },
    ],
    alike: 0,
    labels: null,
    bound: null,
    needed: null,
  };
}

/** A client that ignored `retry-after`. */
function refusals(key: KeyRecord, atMs: number, alike: number): JournalItem {
  const record: OutcomeRecord = {
    exchangeId: newId("req_"),
    keyId: key.id,
    atMs,
    startedAtMs: atMs - 1,
    route: "/v1/chat/completions",
    model: "",
    provider: "",
    upstreamModel: "",
    stream: false,
    outcome: "rejected",
    status: 429,
    code: "rate_limit_exceeded",
    message: "The key's limit of 60 requests per minute is exceeded. Retry in 1 s.",
    firstByteMs: null,
    totalMs: 1,
    attempts: 0,
    attemptDetails: [],
    alike,
    labels: null,
    bound: null,
    needed: null,
  };
  return { kind: "outcomes", outcomes: [record] };
}

/** A conversation with a picture, thinking, a tool and a field that is dropped in translation. Returns the request's id. */
export async function askAtLength(sluice: Sluice, secret: string): Promise<string> {
  const data = Buffer.alloc(4000, 7).toString("base64");
  const body = {
    model: "claude-opus-5",
    max_tokens: 200,
    top_k: 40,
    system: "You answer in one sentence.",
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Where was this taken, and what is the weather there?" },
          { type: "image", source: { type: "base64", media_type: "image/png", data } },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "call_1", name: "weather", input: { city: "Delft" } }],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "call_1", content: '{"sky":"cloudy","celsius":11}' }],
      },
      { role: "user", content: "And tomorrow?" },
    ],
    tools: [{ name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }],
  };
  const headers = { authorization: `Bearer ${secret}` };
  const response = await sluice.request("/v1/messages", { headers, body });
  await response.text();
  return response.headers.get("x-request-id") ?? "";
}
