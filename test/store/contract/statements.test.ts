import { expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import type { AccountStatement, Entry, KeyRecord, Store } from "../../../src/store/store.ts";
import { seededRandom } from "../../support/random.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, settleItem } from "../fixtures.ts";
import type { GatewayStore } from "../kind.ts";

const dayMs = 86_400_000;
const months = [8, 9, 10].map((month) => ({
  sinceMs: Date.UTC(2026, month),
  untilMs: Date.UTC(2026, month + 1),
}));
const account = (id: string, changes: object = {}) => ({
  id,
  mode: "credit" as const,
  label: id,
  isPostpaid: false,
  closedAtMs: null,
  budgetTokens: null,
  period: "none" as const,
  createdAtMs: 0,
  caps: [],
  keyCaps: [],
  content: null,
  tags: null,
  tpmLimits: null,
  ...changes,
});

function sum(amounts: Iterable<number | bigint>): bigint {
  let total = 0n;
  for (const amount of amounts) total += BigInt(amount);
  return total;
}

async function allEntries(store: Store): Promise<readonly Entry[]> {
  const entries = await store.listEntries({ afterId: 0, limit: 100_000 });
  return entries.filter(({ kind }) => kind !== "overrun");
}

/** Every month of every account against the entries themselves, and the last one against the balance. */
async function checkAll(store: Store, accountIds: readonly string[]): Promise<void> {
  const entries = await allEntries(store);
  for (const { sinceMs, untilMs } of months) {
    const statements = await store.reports.statements({ sinceMs, untilMs });
    for (const accountId of accountIds) {
      const own = entries.filter((entry) => entry.accountId === accountId && entry.atMs < untilMs);
      const within = own.filter(({ atMs }) => atMs >= sinceMs);
      const told = statements.find((statement) => statement.accountId === accountId);
      expect(told !== undefined).toBe(within.length > 0);
      const [alone] = await store.reports.statements({ sinceMs, untilMs, accountId });
      expect(alone).toEqual(told ?? (expect.objectContaining({ accountId, lines: [] }) as AccountStatement));
      expect(sum(alone?.lines.map(({ amount }) => amount) ?? [])).toBe(
        sum(within.map(({ amount }) => amount)),
      );
      expect(alone?.opening).toBe(
        sum(own.map(({ amount }) => amount)) - sum(within.map(({ amount }) => amount)),
      );
    }
  }
}

testEachStore(
  "statements add up to the ledger, with moved keys, corrections and closed accounts",
  async (database) => {
    const store = await database.openGateway(systemClock);
    const random = seededRandom(7);
    await store.insertAccount(account("acc_team"), 5_000_000_000);
    await store.insertAccount(account("acc_open", { isPostpaid: true }), 0);
    const keys = [
      keyRecord({ accountId: "acc_team", owner: "ada" }),
      keyRecord({ accountId: "acc_open", isPostpaid: true }),
      keyRecord({ label: "alone" }),
      keyRecord({ mode: "token_budget" }),
    ];
    for (const key of keys) await store.insertKey(key, 0);
    const own = keys[2] as KeyRecord;
    const enter = (accountId: string, amountNano: number, atMs: number) => ({
      ...{ keyId: null, accountId, amountNano, atMs, reference: `r${atMs}`, note: "=paid" },
    });
    const at = () => Date.UTC(2026, 8, 1) + random.below(90 * dayMs);
    for (const id of ["acc_team", "acc_open", own.accountId]) {
      await store.recordTopUp(enter(id, 1_000_000_007, at()));
      await store.recordAdjustment(enter(id, -3, at()));
      await store.recordAdjustment(enter(id, 11, at()));
    }
    const charge = async (target: GatewayStore, key: KeyRecord, count: number) => {
      const items = Array.from({ length: count }, (_, place) => {
        const model = ["a", "b"][random.below(2)] ?? "a";
        const { accountId } = key;
        const overrun = place % 7 === 0 ? 5 : 0;
        const item = settleItem(key.id, 1 + random.below(9_999_999), {
          atMs: at(),
          accountId,
          model,
          overrun,
        });
        return { ...item, record: item.record && { ...item.record, model } };
      });
      await target.charge(items);
    };
    for (const key of keys) await charge(store, key, 30);
    const moved = await store.moveKey(own.id, "acc_team", Date.now());
    await charge(store, moved, 20);
    await store.updateAccount(own.accountId, { closedAtMs: Date.UTC(2026, 10, 1) });
    await store.updateKey(keys[1]?.id ?? "", { status: "revoked" });
    const ids = [...new Set(keys.map(({ accountId }) => accountId))];
    await checkAll(store, ids);
    const { sinceMs, untilMs } = { sinceMs: months[0]?.sinceMs ?? 0, untilMs: Date.UTC(2027, 0) };
    for (const { accountId, mode, opening, lines } of await store.reports.statements({ sinceMs, untilMs })) {
      const [standing] = await store.readAccounts([accountId]);
      if (mode === "credit") {
        expect(opening + sum(lines.map(({ amount }) => amount))).toBe(
          BigInt(standing?.totals.posted ?? Number.NaN),
        );
      }
      const charges = lines.filter(({ kind }) => kind === "charge");
      expect(new Set(charges.map(({ keyId, model }) => `${keyId} ${model}`)).size).toBe(charges.length);
    }
    const [team] = await store.reports.statements({ sinceMs, untilMs, accountId: "acc_team" });
    expect(team?.lines.filter(({ keyId }) => keyId === own.id).length).toBeGreaterThan(0);
    expect(team?.lines.filter(({ owner }) => owner === "ada").length).toBe(2);
    expect(team?.lines.filter(({ kind, note }) => kind === "adjustment" && note === "=paid").length).toBe(2);
    await store.close();
  },
);

testEachStore(
  "a statement counts cancelled calls apart from the requests of their line",
  async (database) => {
    const store = await database.openGateway(systemClock);
    const key = keyRecord();
    await store.insertKey(key, 10_000);
    const atMs = Date.UTC(2026, 9, 5);
    const item = (amount: number) => {
      const made = settleItem(key.id, amount, { atMs, model: "m" });
      return { ...made, record: made.record && { ...made.record, model: "m" } };
    };
    await store.charge([item(100), { ...item(40), record: null }, { ...item(2), record: null }]);
    const [statement] = await store.reports.statements(months[1] ?? { sinceMs: 0, untilMs: 0 });
    const charges = statement?.lines.filter(({ kind }) => kind === "charge");
    expect(charges).toMatchObject([{ requests: 1, cancelledCalls: 2, amount: -142n }]);
    const others = statement?.lines.filter(({ kind }) => kind !== "charge") ?? [];
    expect(others.every(({ cancelledCalls }) => cancelledCalls === 0)).toBe(true);
    await store.close();
  },
);
