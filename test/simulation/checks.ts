import { strict as assert } from "node:assert";
import { utcDay } from "../../src/base/clock.ts";
import type { GatewayError } from "../../src/base/errors.ts";
import { usedIn as laterUsedIn, laterUseOf } from "../../src/base/money/later-use.ts";
import { audit } from "../../src/ledger/audit.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import type { CapTotals, Entry, HoldProgress, KeyRecord, Store } from "../../src/store/store.ts";
import { summarizeUsage } from "../support/usage.ts";
import type { AccountsModel, ExpectedRefusal } from "./accounts-model.ts";
import type { Exchange } from "./simulation.ts";

/** Σ entries = posted, Σ open holds = held, available ≥ 0, and every cap has what was taken and is held of it. */
export function checkMemory(ledger: Ledger, model: AccountsModel, nowMs: number): void {
  for (const key of model.keys.values()) {
    const account = model.account(key.accountId);
    const countedAtMs = Math.max(nowMs, account.countedAtMs);
    account.see(countedAtMs);
    const summary = ledger.summary(key.id);
    const seen = account.isCredit
      ? { posted: summary.posted, held: summary.held, available: summary.available, used: summary.used }
      : {
          posted: account.posted,
          held: summary.budgetHeld,
          available: summary.budgetRemaining,
          used: account.used,
        };
    const held = model.heldOf(account);
    const available = Math.max(0, account.balance - held);
    assert.deepEqual(seen, { posted: account.posted, held, available, used: account.used });
    assert.deepEqual(
      summary.caps.map(({ bound, limit, used, held: reserved }) => ({ bound, limit, used, held: reserved })),
      capsAt(model, key, countedAtMs),
    );
  }
  assert.equal(ledger.openHolds, model.holds.size);
}

/** The account's caps, then the key's, at a time whose periods may not have started yet. */
function capsAt(model: AccountsModel, key: KeyRecord, atMs: number): object[] {
  const capsOf = (ownerId: string, bound: string) =>
    model.caps
      .filter((cap) => cap.ownerId === ownerId)
      .map((cap) => {
        const then = cap.at(atMs);
        return { bound, limit: then.limit, used: then.used, held: model.heldOf(then) };
      });
  return [...capsOf(key.accountId, "account_cap"), ...capsOf(key.id, "key_cap")];
}

/** The totals are what the entries add up to, and both are what the model says. */
export async function checkDatabase(store: Store, model: AccountsModel): Promise<void> {
  const report = await audit(store);
  assert.deepEqual(report.differences, []);
  const { accountTotals: kept, keyTotals, capTotals, valueTotals } = await store.load();
  for (const [id, account] of model.accounts) {
    const totals = kept.find(({ accountId }) => accountId === id);
    assert(totals !== undefined);
    assert.equal(totals.used, account.used);
    assert.equal(totals.posted, account.isCredit ? account.posted : 0 - account.used);
    if (account.isCredit && !account.record.isPostpaid)
      assert(totals.posted >= 0, `posted is ${totals.posted}`);
    if (!account.isCredit)
      assert.equal(usedIn(account.period, { ...totals, used: totals.periodUsed }), account.periodUsed);
  }
  for (const { record, period, used } of model.caps) {
    const totals = capTotals.find(({ no }) => no === record.no);
    assert.equal(totals && usedIn(period, totals), used, `cap ${record.no}`);
  }
  for (const { record, value, period, used } of model.values) {
    const totals = valueTotals.find((each) => each.capNo === record.no && each.value === value);
    const kept = totals === undefined ? 0 : usedIn(period, totals);
    assert.equal(kept, used, `cap ${record.id} ${value}`);
  }
  const requests = keyTotals.reduce((sum, totals) => sum + totals.requests, 0);
  const groups = await summarizeUsage(store, { by: "model", sinceMs: 0 });
  assert.equal(
    groups.reduce((sum, group) => sum + group.requests, 0),
    requests,
  );
  const used = kept.reduce((sum, totals) => sum + totals.used, 0);
  assert.equal(
    groups.reduce((sum, group) => sum + group.spendNano + group.spendTokens, 0),
    used,
    "the spend of reports must be the sum of the ledger",
  );
}

/** What a key has spent is the same in memory and in the database: since ever, and today. */
export async function checkKeys(ledger: Ledger, store: Store, nowMs: number): Promise<void> {
  const { keys, keyTotals } = await store.load();
  for (const { keyId, day, daySpend, spent, laterSpend } of keyTotals) {
    if (keys.find(({ id }) => id === keyId)?.mode !== "credit") continue;
    const today = Math.max(day, utcDay(nowMs));
    const later = laterUseOf(laterSpend).find(({ at }) => at === today)?.used ?? 0;
    const { todaySpend, lifetimeSpend } = ledger.summary(keyId);
    assert.deepEqual([todaySpend, lifetimeSpend], [day === today ? daySpend : later, spent]);
  }
}

/** What is stored for a period that may not have been stored yet. */
function usedIn(period: number, { periodStartMs, used, laterUsed }: Omit<CapTotals, "no">): number {
  return periodStartMs === period ? used : laterUsedIn(laterUseOf(laterUsed), period);
}

/** Every charge that was acknowledged is there once, nothing is there twice, and what was interrupted is charged. */
export async function checkExchanges(
  store: Store,
  exchanges: readonly Exchange[],
  interrupted: readonly HoldProgress[],
): Promise<void> {
  const entries = await allEntries(store);
  const charges = Map.groupBy(
    entries.filter(({ kind }) => kind === "charge"),
    ({ exchangeId }) => exchangeId,
  );
  for (const [exchangeId, found] of charges) assert.equal(found.length, 1, `${exchangeId} was charged twice`);
  for (const { hold, isDurable, charged, owed: owedInAll } of exchanges) {
    const found = charges.get(hold.id)?.[0];
    const owed = entries.filter(
      ({ kind, exchangeId, amount }) => kind === "overrun" && exchangeId === hold.id && amount < 0,
    );
    const paid = owed.reduce((sum, { amount }) => sum - amount, 0 - (found?.amount ?? 0));
    if (isDurable) {
      assert.equal(found === undefined ? null : paid, charged);
      assert.equal(paid + (found?.amount ?? 0), owedInAll, "what is above the caps is an entry of its own");
    }
    if (hold.state === "released" && found !== undefined) assert.equal(found.outcome, "interrupted");
  }
  for (const { holdId, chargeSoFar } of interrupted) {
    const parts = entries.filter(({ exchangeId }) => exchangeId === holdId);
    const total = parts.reduce((sum, { amount }) => sum + Math.abs(amount), 0);
    assert.equal(total, chargeSoFar, `${holdId} was not charged for what it had produced`);
  }
}

async function allEntries(store: Store): Promise<readonly Entry[]> {
  const entries = await store.listEntries({ afterId: 0, limit: 1_000_000 });
  return entries;
}

/** The error names the limit: of several that reject for the same reason, the one that resets last. */
export function checkRefusal(error: GatewayError, expected: ExpectedRefusal | null): void {
  const resetsAt = error.vendor?.details?.["resets_at"];
  const endsMs = typeof resetsAt === "string" ? Date.parse(resetsAt) : Infinity;
  assert.deepEqual({ code: error.code, endsMs }, expected, "refused for another reason");
}
