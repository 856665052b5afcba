import { systemClock } from "../../src/base/clock.ts";
import { newId } from "../../src/base/id.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { makeRates } from "../../src/base/money/rates.ts";
import type { LabelColumn } from "../../src/base/requests/labels.ts";
import { type IssuedKey, issueKey } from "../../src/keys/issue.ts";
import { openStore } from "../../src/store/open.ts";
import type { JournaledStore, JournalItem, KeyRecord, Store } from "../../src/store/store.ts";

export interface FillOptions {
  readonly keys: number;
  readonly records: number;
}

export interface Filled {
  /** A credit key among the filled ones, for sending requests. */
  readonly credit: IssuedKey;
}

const historyMs = 90 * 86_400_000;
const itemsPerCommit = 10_000;
const models = ["house-model", "gpt-5.6", "small-model", "long-model"];
const providers = ["openai", "anthropic", "demo"];

/**
 * Fills a data folder with a history of three months, by the same ways that a gateway takes: what it leaves behind
 * passes the audit.
 */
export async function fillStore(dir: string, { keys, records }: FillOptions): Promise<Filled> {
  const store = await openStore({ dir, clock: systemClock, role: "gateway" });
  try {
    const issued = await issueKeys(store, keys);
    const first = issued[0];
    if (first === undefined) throw new Error("a store is filled with at least one key");
    await writeHistory(
      store,
      issued.map(({ key }) => key),
      records,
    );
    return { credit: first };
  } finally {
    await store.close();
  }
}

function issueKeys(store: Store, count: number): Promise<readonly IssuedKey[]> {
  const specs = Array.from({ length: count }, (_, index) =>
    index % 4 === 3
      ? ({
          mode: "token_budget",
          label: `budget ${index}`,
          budgetTokens: 1_000_000_000,
          period: "month",
        } as const)
      : ({ mode: "credit", label: `credit ${index}`, creditNano: 100_000 * nanoPerCredit } as const),
  );
  return Promise.all(specs.map((spec) => issueKey(store, systemClock, spec)));
}

/** What tells a record from the others. */
interface Marks {
  readonly model: string;
  readonly labels: LabelColumn;
}

export async function writeHistory(
  store: JournaledStore,
  keys: readonly KeyRecord[],
  records: number,
  marksOf?: (index: number) => Marks,
): Promise<void> {
  const startMs = systemClock.wallMs() - historyMs;
  for (let from = 0; from < records; from += itemsPerCommit) {
    const length = Math.min(itemsPerCommit, records - from);
    const items = Array.from({ length }, (_, index) => {
      const atMs = startMs + Math.floor((historyMs * (from + index)) / records);
      return settleOf(busyKey(keys), atMs, marksOf?.(from + index));
    });
    await store.commit(items);
  }
}

/** A few keys have most of the traffic, as in life. */
function busyKey(keys: readonly KeyRecord[]): KeyRecord {
  const key = keys[Math.floor(keys.length * Math.random() ** 4)];
  if (key === undefined) throw new Error("there are keys");
  return key;
}

const rates = makeRates({
  microUsdPerCredit: 1_000_000,
  picoUsd: { input: 1_250_000, output: 10_000_000 },
  tiers: [],
  inputAbove: null,
});

function settleOf(key: KeyRecord, atMs: number, marks?: Marks): JournalItem {
  const exchangeId = newId("req_");
  const inputTokens = 50 + Math.floor(Math.random() * 2_000);
  const outputTokens = 10 + Math.floor(Math.random() * 500);
  const isCredit = key.mode === "credit";
  const charged = isCredit ? inputTokens * 1_250 + outputTokens * 10_000 : inputTokens + outputTokens;
  const payer = { accountId: key.accountId, countedAtMs: atMs };
  const common = { keyId: key.id, exchangeId, atMs, basis: "measured", outcome: "completed" } as const;
  const where = { model: marks?.model ?? favourite(models, key), provider: favourite(providers, key) };
  const listCostNano = isCredit ? null : inputTokens * 1_250 + outputTokens * 10_000;
  const periodStartMs = isCredit ? 0 : monthOf(atMs);
  const priced = {
    rates,
    quantities: { input: inputTokens, output: outputTokens },
    requestedModel: null,
    labels: marks === undefined ? null : JSON.stringify(marks.labels),
  };
  return {
    kind: "settle",
    holdId: exchangeId,
    hasRow: false,
    charge: {
      ...common,
      ...payer,
      ...where,
      periodStartMs,
      charged,
      owed: 0,
      overrun: 0,
      ...priced,
      listCostNano,
    },
    record: {
      ...common,
      ...where,
      route: "/v1/chat/completions",
      upstreamModel: "upstream-model",
      stream: Math.random() < 0.7,
      status: 200,
      usage: { inputTokens, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens, reasoningTokens: 0 },
      costNano: isCredit ? charged : 0,
      firstByteMs: 20 + Math.floor(Math.random() ** 3 * 2_000),
      totalMs: 200 + Math.floor(Math.random() ** 3 * 20_000),
      attempts: 1,
    },
    response: null,
    outcomeRecord: null,
  };
}

function monthOf(atMs: number): number {
  const date = new Date(atMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** A key keeps to its model: otherwise there would be as many sums per hour as requests. */
function favourite(names: readonly string[], { id }: KeyRecord): string {
  return names[id.charCodeAt(id.length - 1) % names.length] ?? "";
}
