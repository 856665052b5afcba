import { strict as assert } from "node:assert";
import { audit } from "../../src/ledger/audit.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import type { Entry, HoldProgress, Store } from "../../src/store/store.ts";
import type { AccountModel } from "./account-model.ts";
import type { Exchange } from "./simulation.ts";

/** Σ entries = posted, Σ open holds = held, available ≥ 0. */
export function checkMemory(ledger: Ledger, accounts: readonly AccountModel[], nowMs: number): void {
  let openHolds = 0;
  for (const account of accounts) {
    account.see(nowMs);
    openHolds += account.holds.size;
    const summary = ledger.summary(account.key.id);
    const seen = account.isCredit
      ? { balance: summary.posted, held: summary.held, available: summary.available, used: summary.used }
      : {
          balance: Math.max(0, (summary.budgetTokens ?? 0) - summary.budgetUsed),
          held: summary.budgetHeld,
          available: summary.budgetRemaining,
          used: account.used,
        };
    assert.deepEqual(seen, {
      balance: account.balance,
      held: account.held,
      available: Math.max(0, account.balance - account.held),
      used: account.used,
    });
  }
  assert.equal(ledger.openHolds, openHolds);
}

/** The totals are what the entries add up to, and both are what the model says. */
export async function checkDatabase(store: Store, accounts: readonly AccountModel[]): Promise<void> {
  const report = await audit(store);
  assert.deepEqual(report.differences, []);
  const { accountTotals: kept, keyTotals } = await store.load();
  for (const account of accounts) {
    const totals = kept.find(({ accountId }) => accountId === account.key.accountId);
    assert(totals !== undefined);
    assert.equal(totals.used, account.used);
    assert.equal(totals.posted, account.isCredit ? account.posted : 0 - account.used);
    if (account.isCredit) assert(totals.posted >= 0, `posted is ${totals.posted}`);
    else assert.equal(totals.periodStartMs === account.period ? totals.periodUsed : 0, account.periodUsed);
  }
  const requests = keyTotals.reduce((sum, totals) => sum + totals.requests, 0);
  const groups = await store.summarizeUsage({ by: "model", sinceMs: 0 });
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
  for (const { hold, isDurable, charged } of exchanges) {
    const found = charges.get(hold.id)?.[0];
    if (isDurable) assert.equal(found === undefined ? null : 0 - found.amount, charged);
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
