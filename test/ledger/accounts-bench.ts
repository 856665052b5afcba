import { GatewayError } from "../../src/base/errors.ts";
import { newId } from "../../src/base/id.ts";
import type { Accounts, Hold } from "../../src/ledger/accounts.ts";
import type { AccountRecord, CapLimit, CapRecord, KeyRecord, Store } from "../../src/store/store.ts";
import { keyRecord } from "../store/fixtures.ts";
import { sqlite } from "../store/sqlite/kind.ts";
import { FakeClock } from "../support/clock.ts";
import { startProcess } from "./fixtures.ts";

/** Accounts that decide, in memory or in a shared database, and an operator who works on the same store. */
export interface AccountsBench extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly store: Store;
  /** One for each gateway. */
  readonly gateways: readonly Accounts[];
  /** Every gateway knows what the operator has changed. */
  refresh(): Promise<void>;
  /** As every gateway does now and then; true if a clock had been ahead. */
  returnToPresent(): Promise<boolean>;
}

export async function openMemory(): Promise<AccountsBench> {
  const clock = new FakeClock("2026-11-16T12:00:00Z");
  const database = await sqlite.create();
  const { store: gateway, ledger, watcher } = await startProcess(database, clock);
  const store = await database.openOperator(clock);
  return {
    clock,
    store,
    gateways: [ledger],
    refresh: () => watcher.refresh(),
    returnToPresent: () => ledger.returnToPresent(),
    async [Symbol.asyncDispose]() {
      await gateway.close();
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

export function cap(limit: number, period: CapLimit["period"], models: string | null = null): CapRecord {
  return { no: 0, limit, period, models, extra: 0, extraPeriodMs: 0 };
}

export async function addAccount(
  { store }: AccountsBench,
  overrides: Partial<AccountRecord>,
  creditNano = 0,
): Promise<AccountRecord> {
  const account: AccountRecord = {
    id: newId("acc_"),
    mode: "credit",
    label: null,
    isPostpaid: false,
    closedAtMs: null,
    budgetTokens: null,
    period: "none",
    createdAtMs: 0,
    caps: [],
    keyCaps: [],
    content: null,
    tags: null,
    tpmLimits: null,
    ...overrides,
  };
  await store.insertAccount(account, creditNano);
  return account;
}

export async function addKeys(
  { store }: AccountsBench,
  { id: accountId, mode }: Pick<AccountRecord, "id" | "mode">,
  count: number,
  overrides: Partial<KeyRecord> = {},
): Promise<KeyRecord[]> {
  const keys = Array.from({ length: count }, () => keyRecord({ accountId, mode, ...overrides }));
  for (const key of keys) await store.insertKey(key, 0);
  return keys;
}

/** The hold, or the refusal. */
export async function tryHold(
  accounts: Accounts | undefined,
  { id: keyId }: KeyRecord,
  amount: number,
  model = "house-model",
  labels: string | null = null,
): Promise<Hold | GatewayError> {
  if (accounts === undefined) throw new Error("there is a gateway");
  try {
    return await accounts.hold({
      keyId,
      exchangeId: newId("req_"),
      model,
      requestedModel: null,
      labels,
      amount,
    });
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}
