import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "../../src/base/id.ts";
import { unsetAttributes } from "../../src/base/key-attributes.ts";
import { ownAccountId } from "../../src/base/own-account.ts";
import { noUsage } from "../../src/base/usage/usage.ts";
import type { JournalItem, KeyRecord, OutcomeRecord, UsageRecord } from "../../src/store/store.ts";
import { nanoRates } from "../support/rates.ts";

export interface TemporaryFolder extends Disposable {
  readonly dir: string;
}

export function temporaryFolder(parent = tmpdir()): TemporaryFolder {
  const dir = mkdtempSync(join(parent, "sluice-store-"));
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

let lastKey = 0;

export function keyRecord(overrides: Partial<KeyRecord> = {}): KeyRecord {
  lastKey += 1;
  const id = overrides.id ?? newId("key_");
  return {
    id,
    accountId: ownAccountId(id),
    isPostpaid: false,
    isClosed: false,
    accountContent: null,
    accountTags: null,
    accountTpmLimits: null,
    caps: [],
    hash: lastKey.toString(16).padStart(64, "0"),
    prefix: `slu_${String(lastKey).padStart(8, "0")}`,
    ...unsetAttributes,
    mode: "credit",
    status: "active",
    createdAtMs: 0,
    previousHash: null,
    previousUntilMs: null,
    ...overrides,
  };
}

export function usageRecord(keyId: string, overrides: Partial<UsageRecord> = {}): UsageRecord {
  return {
    exchangeId: newId("req_"),
    keyId,
    atMs: Date.UTC(2026, 10, 15, 12),
    route: "/v1/chat/completions",
    model: "house-model",
    provider: "openai",
    upstreamModel: "gpt-5.6",
    stream: false,
    outcome: "completed",
    status: 200,
    usage: { ...noUsage, inputTokens: 10, cachedInputTokens: 4, outputTokens: 5 },
    basis: "measured",
    costNano: 100,
    firstByteMs: 12.4,
    totalMs: 80.6,
    attempts: 1,
    ...overrides,
  };
}

export type SettleItem = JournalItem & { readonly kind: "settle" };

/** A charge as the ledger would commit it, with a usage record. */
export function settleItem(
  keyId: string,
  charged: number,
  overrides: Partial<SettleItem["charge"]> = {},
): SettleItem {
  const record = usageRecord(keyId, { costNano: charged });
  const charge = {
    keyId,
    accountId: ownAccountId(keyId),
    exchangeId: record.exchangeId,
    atMs: record.atMs,
    periodStartMs: 0,
    countedAtMs: record.atMs,
    charged,
    owed: 0,
    overrun: 0,
    basis: "measured",
    outcome: "completed",
    model: record.model,
    requestedModel: null,
    labels: null,
    provider: record.provider,
    rates: nanoRates,
    quantities: { output: charged + (overrides.overrun ?? 0) },
    listCostNano: null,
    ...overrides,
  } as const;
  return {
    kind: "settle",
    holdId: record.exchangeId,
    hasRow: false,
    charge,
    record,
    response: null,
    outcomeRecord: null,
  };
}

/** How an exchange ended that was refused at once, unless told otherwise. */
export function outcomeRecordOf(keyId: string, overrides: Partial<OutcomeRecord> = {}): OutcomeRecord {
  const atMs = Date.UTC(2026, 10, 15, 12);
  return {
    exchangeId: newId("req_"),
    keyId,
    atMs,
    startedAtMs: atMs - 20,
    route: "/v1/chat/completions",
    model: "",
    provider: "",
    upstreamModel: "",
    stream: false,
    outcome: "rejected",
    status: 429,
    code: "rate_limit_exceeded",
    message: "Too fast.",
    firstByteMs: null,
    totalMs: 20,
    attempts: 0,
    attemptDetails: [],
    alike: 0,
    labels: null,
    bound: null,
    needed: null,
    ...overrides,
  };
}
