import { strict as assert } from "node:assert";
import { periodStart } from "../../src/base/money/period.ts";
import type { Hold, ReplacedHold } from "../../src/ledger/accounts.ts";
import {
  type CapLimit,
  type CapOwner,
  type Entry,
  type NewValueCap,
  type Store,
  StoreError,
} from "../../src/store/store.ts";
import { keyRecord } from "../store/fixtures.ts";
import type { AccountsModel } from "./accounts-model.ts";
import type { SeededRandom } from "./random.ts";

export const models = ["house-model", "other-model"] as const;
const openingNano = 1_000;

/** Two keys on a prepaid account, one on an open one, and three with budgets of their own. Some have caps. */
export async function populate(store: Store, model: AccountsModel, nowMs: number): Promise<void> {
  const ids = [];
  for (const isPostpaid of [false, true]) {
    const [owner, others] = [keyRecord({ mode: "credit", isPostpaid }), isPostpaid ? 0 : 1];
    const { accountId } = owner;
    await store.insertKey(owner, isPostpaid ? 0 : openingNano);
    ids.push(owner.id);
    for (let n = 0; n < others; n += 1) {
      const key = keyRecord({ mode: "credit", accountId });
      await store.insertKey(key, 0);
      ids.push(key.id);
    }
    await store.setCaps({ accountId }, [{ limit: 800, period: "month", models: "other-*" }], nowMs);
  }
  const budgets = [
    { budgetTokens: 1_000, period: "day" },
    { budgetTokens: 2_000, period: "week" },
    { budgetTokens: 3_000 },
  ] as const;
  for (const terms of budgets) {
    const key = keyRecord({ mode: "token_budget", period: "none", ...terms });
    await store.insertKey(key, 0);
    ids.push(key.id);
  }
  for (const keyId of ids.slice(1)) {
    await store.setCaps({ keyId }, [{ limit: 700, period: "day", models: null }], nowMs);
  }
  await learn(store, model, ids);
  for (const account of model.accounts.values()) {
    if (account.isCredit && !account.record.isPostpaid) account.posted = openingNano;
  }
}

/** What takes the place of a hold: its model's fallback, or the model itself again. */
export function replacementOf(random: SeededRandom, { model, labels }: Hold): ReplacedHold {
  const other = models.find((name) => name !== model) ?? model;
  const amount = random.between(0, 400);
  if (labels === null) return { model: other, requestedModel: model, labels, amount };
  const { fallback_from: from, ...kept } = JSON.parse(labels);
  const next = from === undefined ? { ...kept, fallback_from: model } : kept;
  return { model: other, requestedModel: null, labels: JSON.stringify(next), amount };
}

/** Who a request is from. Few have all labels; the gateway's own have none at all. */
export function someLabels(random: SeededRandom): string | null {
  if (random.chance(0.1)) return null;
  const owner = random.pick(["", "ada", "ben", "cho"]);
  const user = random.pick(["u1", "u2", "u3", "u4", undefined]);
  const project = random.pick(["atlas", "zephyr", undefined, undefined]);
  return JSON.stringify({ owner, ...(user && { user }), ...(project && { "tag:project": project }) });
}

/** Adds, changes, raises or removes a limit by value. */
async function changeValueCaps(
  random: SeededRandom,
  store: Store,
  model: AccountsModel,
  nowMs: number,
): Promise<void> {
  const all = await store.valueCaps();
  const mine = random.pick(all.filter(({ id }) => id.startsWith(model.capPrefix)));
  const choice = random.between(1, 10);
  if (mine !== undefined && choice <= 2) return void (await store.removeValueCap(mine.id));
  if (mine !== undefined && choice <= 5) {
    const value = mine.value ?? (random.chance(0.5) ? "ada" : null);
    return store.raiseValueCap(mine.id, random.between(1, 300), value, nowMs);
  }
  if (mine !== undefined && choice <= 6) {
    await store.updateValueCap(mine.id, { limit: random.between(100, 900) }, nowMs);
    return;
  }
  const key = random.pick([...model.keys.values()]);
  assert(key !== undefined);
  const label = random.pick(["owner", "user", "tag:project"]) ?? "owner";
  const values = { owner: "ada", user: "u1", "tag:project": "atlas" }[label] ?? null;
  const isInKey = random.chance(0.5);
  const cap: NewValueCap = {
    id: `${model.capPrefix}${random.between(1, 1_000_000_000)}`,
    keyId: isInKey ? key.id : null,
    accountId: isInKey ? null : key.accountId,
    mode: key.mode,
    label,
    value: random.chance(0.3) ? values : null,
    limit: random.between(100, 900),
    period: random.pick(["day", "week", "month"] as const) ?? "day",
    models: random.chance(0.3) ? "other-*" : null,
    isOptional: label !== "owner" && random.chance(0.7),
    maxValues: random.between(1, 4),
    thenModel: null,
    thenAlways: false,
  };
  const record = await store.insertValueCap(cap, nowMs);
  model.beginValues(record, periodStart(cap.period, nowMs));
}

/** Mostly within the hold; sometimes above it, by a little or by more than any limit leaves. */
export function costOf(random: SeededRandom, held: number): number {
  if (!random.chance(0.25)) return random.between(0, held);
  return held + random.between(1, random.chance(0.4) ? 3_000 : 300);
}

/** The part of a cost that is not charged in any case, as of a response that was not delivered. */
export function waivedOf(random: SeededRandom, cost: number): number {
  return random.chance(0.2) ? random.between(0, cost) : 0;
}

/** Lets the model know these keys and their accounts as they are in the database. */
export async function learn(store: Store, model: AccountsModel, keyIds: Iterable<string>): Promise<void> {
  const keys = await Promise.all(Array.from(keyIds, (id) => store.findKey(id)));
  const known = keys.filter((key) => key !== null);
  const ids = [...new Set([...known.map(({ accountId }) => accountId), ...model.accounts.keys()])];
  const accounts = await Promise.all(ids.map((id) => store.findAccount(id)));
  for (const { caps } of await store.readAccounts(ids)) model.begin(caps);
  const caps = (await store.valueCaps()).filter(({ id }) => id.startsWith(model.capPrefix));
  const totals = await Promise.all(caps.map(({ no }) => store.valueTotals(no)));
  const raises = totals.flat().filter(({ extra }) => extra > 0);
  const valueCaps = { caps, raises };
  model.apply({
    accounts: accounts.filter((account) => account !== null),
    keys: known,
    valueCaps,
    entries: [],
  });
}

/** Something that an operator does from another process. Returns the entry, if it makes one. */
export async function operate(
  random: SeededRandom,
  store: Store,
  model: AccountsModel,
  nowMs: number,
): Promise<Entry | null> {
  const choice = random.between(1, 12);
  if (choice > 10) await changeValueCaps(random, store, model, nowMs);
  else if (choice <= 4) return changeTerms(random, store, model, nowMs);
  if (choice > 10) return null;
  if (choice <= 5) await moveKey(random, store, model, nowMs);
  else if (choice <= 7) await extendCap(random, store, pickOwner(random, model), nowMs);
  else {
    await store.setCaps(pickOwner(random, model), someCaps(random), nowMs);
    for (const { caps } of await store.readAccounts([...model.accounts.keys()])) model.begin(caps);
  }
  return null;
}

/** A top-up, a correction in either direction, or another budget. */
async function changeTerms(
  random: SeededRandom,
  store: Store,
  model: AccountsModel,
  nowMs: number,
): Promise<Entry | null> {
  const account = random.pick([...model.accounts.values()]);
  assert(account !== undefined);
  const { id: accountId } = account.record;
  if (!account.isCredit) {
    const period = random.pick(["day", "week", "month", "none"] as const) ?? "day";
    const change = random.chance(0.3) ? { period } : { budgetTokens: random.between(500, 4_000) };
    await store.updateAccount(accountId, change);
    return null;
  }
  const common = { keyId: null, accountId, reference: null, note: null, atMs: nowMs };
  if (random.chance(0.6)) {
    return (await store.recordTopUp({ ...common, amountNano: random.between(1, 800) })).entry;
  }
  // Sometimes less is left than holds have reserved.
  const most = random.chance(0.4) ? Math.max(1, account.posted) : 300;
  const amountNano = random.between(1, most) * (random.chance(0.7) ? -1 : 1);
  try {
    return (await store.recordAdjustment({ ...common, amountNano })).entry;
  } catch (error) {
    assert(error instanceof StoreError && error.reason === "invalid_amount", String(error));
    const [standing] = await store.readAccounts([accountId]);
    assert((standing?.totals.posted ?? 0) + amountNano < 0, "refused although the balance covers it");
    return null;
  }
}

async function moveKey(
  random: SeededRandom,
  store: Store,
  model: AccountsModel,
  nowMs: number,
): Promise<void> {
  const key = random.pick([...model.keys.values()].filter(({ mode }) => mode === "credit"));
  const account = random.pick([...model.accounts.values()].filter(({ isCredit }) => isCredit));
  assert(key !== undefined && account !== undefined);
  await store.moveKey(key.id, account.record.id, nowMs);
}

async function extendCap(random: SeededRandom, store: Store, owner: CapOwner, nowMs: number): Promise<void> {
  const found =
    "keyId" in owner ? await store.findKey(owner.keyId) : await store.findAccount(owner.accountId);
  const cap = random.pick(found?.caps ?? []);
  if (cap !== undefined) await store.extendCap(owner, cap.no, random.between(1, 300), nowMs);
}

function pickOwner(random: SeededRandom, model: AccountsModel): CapOwner {
  const owners: CapOwner[] = [
    ...Array.from(model.keys.keys(), (keyId) => ({ keyId })),
    ...Array.from(model.accounts.keys(), (accountId) => ({ accountId })),
  ];
  const owner = random.pick(owners);
  assert(owner !== undefined);
  return owner;
}

/** None, one, or several. */
function someCaps(random: SeededRandom): CapLimit[] {
  const kinds = [
    { period: "day", models: null },
    { period: "week", models: null },
    { period: "month", models: null },
    { period: "day", models: "other-*" },
  ] as const;
  return kinds
    .filter(() => random.chance(0.5))
    .map((kind) => ({ ...kind, limit: random.between(100, 1_500) }));
}
