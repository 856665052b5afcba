import type { BoundState } from "../base/money/bound.ts";
import { nextPeriodStart, periodStart } from "../base/money/period.ts";
import { ownerLabel, type Tags, tagPrefix } from "../base/requests/labels.ts";
import type { AccountRecord, KeyRecord, Store, ValueCapRecord, ValueTotals } from "../store/store.ts";
import { boundOf, familyOf } from "./value-caps.ts";

type CapReads = Pick<Store, "bindingCaps" | "totalsOfValues">;

/** A cap by value, as it holds for a key or an account. */
export interface BoundValueCap {
  readonly cap: ValueCapRecord;
  /** Null if each request has its own. */
  readonly value: string | null;
  /** By this value. */
  readonly used: number;
  /** Includes the raise. */
  readonly limit: number;
}

/** The key whose requests caps by value can limit. */
interface Bearer {
  /** Null for an account. */
  readonly keyId: string | null;
  readonly accountId: string;
  readonly mode: KeyRecord["mode"];
  /** The labels that are known of every request: `owner` and `tag:NAME`. */
  readonly labels: ReadonlyMap<string, string>;
}

type LabelledKey = Pick<KeyRecord, "id" | "accountId" | "mode" | "owner" | "tags" | "accountTags">;
type LabelledAccount = Pick<AccountRecord, "id" | "mode" | "tags">;

/** The caps by value of each key: with its own value of the label, or for each that its requests can have. */
export function valueCapsOfKeys(
  store: CapReads,
  keys: readonly LabelledKey[],
  nowMs: number,
): Promise<BoundValueCap[][]> {
  const bearers = keys.map(({ id: keyId, accountId, mode, owner, tags, accountTags }) => ({
    ...{ keyId, accountId, mode },
    labels: labelsOf(ownerLabel(owner), { ...accountTags, ...tags }),
  }));
  return readBoundCaps(store, bearers, nowMs);
}

/** The caps by value within each account, and the caps of its tags. */
export function valueCapsOfAccounts(
  store: CapReads,
  accounts: readonly LabelledAccount[],
  nowMs: number,
): Promise<BoundValueCap[][]> {
  const bearers = accounts.map(({ id: accountId, mode, tags }) => ({
    ...{ keyId: null, accountId, mode },
    labels: labelsOf("", tags ?? {}),
  }));
  return readBoundCaps(store, bearers, nowMs);
}

/** The limits whose use each of the key's requests will find is known. Reservations of others are not included. */
export async function knownBounds(store: CapReads, key: LabelledKey, nowMs: number): Promise<BoundState[]> {
  const [caps = []] = await valueCapsOfKeys(store, [key], nowMs);
  return caps
    .filter(({ value }) => value !== null)
    .map(({ cap, value, used, limit }) => ({
      bound: boundOf(cap.label),
      period: cap.period,
      models: cap.models,
      value,
      limit,
      used,
      held: 0,
      left: Math.max(0, limit - used),
      resetsAtMs: nextPeriodStart(cap.period, nowMs),
    }));
}

/** The used and remaining amounts of a value in the cap's current period. */
export function valueAmounts(
  cap: ValueCapRecord,
  totals: Omit<ValueTotals, "capNo" | "value"> | undefined,
  nowMs: number,
) {
  const startMs = periodStart(cap.period, nowMs);
  const used = totals !== undefined && totals.periodStartMs >= startMs ? totals.used : 0;
  const raised = totals?.extraPeriodMs === startMs ? totals.extra : 0;
  const limit = cap.limit + (cap.extraPeriodMs === startMs ? cap.extra : 0) + raised;
  return { used, limit, raised };
}

function labelsOf(owner: string, tags: Tags): ReadonlyMap<string, string> {
  const ofTags = Object.entries(tags).map(([name, value]) => [tagPrefix + name, value] as const);
  return new Map(owner === "" ? ofTags : [["owner", owner], ...ofTags]);
}

async function readBoundCaps(
  store: CapReads,
  bearers: readonly Bearer[],
  nowMs: number,
): Promise<BoundValueCap[][]> {
  const values = [...new Set(bearers.flatMap(({ labels }) => [...labels.values()]))];
  const keyIds = bearers.flatMap(({ keyId }) => keyId ?? []);
  const accountIds = [...new Set(bearers.map(({ accountId }) => accountId))];
  const caps = await store.bindingCaps({ values, keyIds, accountIds });
  if (caps.length === 0) return bearers.map(() => []);
  const counted = new Set([...values, ...caps.flatMap(({ value }) => value ?? [])]);
  const totals = await store.totalsOfValues(
    caps.map(({ no }) => no),
    [...counted],
  );
  const found = new Map(totals.map((each) => [`${each.capNo} ${each.value}`, each]));
  return bearers.map((bearer) =>
    capsHolding(caps, bearer).map(({ cap, value }) => {
      const { used, limit } = valueAmounts(cap, found.get(`${cap.no} ${value}`), nowMs);
      return { cap, value, used, limit };
    }),
  );
}

type HoldingCap = Pick<BoundValueCap, "cap" | "value">;

function capsHolding(caps: readonly ValueCapRecord[], bearer: Bearer): readonly HoldingCap[] {
  const holding = caps
    .filter((cap) => isWithin(cap, bearer))
    .map((cap) => ({ cap, value: cap.value ?? bearer.labels.get(cap.label) ?? null }))
    .filter((each) => canHold(each, bearer));
  // A cap for one value holds in place of the one for each.
  const own = new Set(
    holding.filter(({ cap }) => cap.value !== null).map(({ cap, value }) => familyOf(cap) + value),
  );
  return holding.filter(({ cap, value }) => cap.value !== null || !own.has(familyOf(cap) + value));
}

function isWithin({ keyId, accountId, mode }: ValueCapRecord, bearer: Bearer): boolean {
  if (mode !== bearer.mode || (keyId !== null && keyId !== bearer.keyId)) return false;
  return accountId === null || accountId === bearer.accountId;
}

function canHold({ cap, value }: HoldingCap, { keyId, labels }: Bearer): boolean {
  if (value !== null && labels.get(cap.label) === value) return true;
  // Who sends the requests of an account is not known, and what holds everywhere is not its own.
  if (keyId === null) return cap.accountId !== null;
  if (cap.label === "owner") return false;
  return cap.value === null ? value === null : cap.keyId !== null;
}
