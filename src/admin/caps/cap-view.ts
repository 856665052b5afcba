import { nextPeriodStart, periodStart } from "../../base/money/period.ts";
import { tagPrefix } from "../../base/requests/labels.ts";
import { valueAmounts } from "../../ledger/bound-value-caps.ts";
import type { CountedValues, OwnedCap, ValueCapRecord, ValueTotals } from "../../store/store.ts";
import { capStates, shown } from "../key-terms/cap-document.ts";
import { iso } from "../moments.ts";
import type { CapByValueView, CapValueView, ListedCapView } from "./schema.ts";

/** The values of the current period. */
export function currentValues(
  cap: ValueCapRecord,
  totals: readonly ValueTotals[],
  nowMs: number,
): CapValueView[] {
  const startMs = periodStart(cap.period, nowMs);
  return totals
    .filter(({ periodStartMs }) => periodStartMs >= startMs)
    .map((each) => {
      const { used, limit, raised } = valueAmounts(cap, each, nowMs);
      return {
        cap: cap.id,
        value: each.value || null,
        used: shown(used, cap.mode),
        limit: shown(limit, cap.mode),
        left: shown(Math.max(0, limit - used), cap.mode),
        raised_by: shown(raised, cap.mode),
      };
    });
}

/** `values` are the current ones of this cap. */
export function capView(cap: ValueCapRecord, values: readonly CapValueView[], nowMs: number): CapByValueView {
  const sum = (name: "used" | "raised_by") => values.reduce((total, value) => total + value[name], 0);
  const counted = values.filter(({ used }) => used > 0).length;
  return viewWith(cap, { counted, used: sum("used"), raised: sum("raised_by") }, nowMs);
}

export function listedCap(
  cap: ValueCapRecord,
  counted: CountedValues | undefined,
  nowMs: number,
): ListedCapView {
  const amounts = {
    counted: counted?.counted ?? 0,
    used: shown(counted?.used ?? 0, cap.mode),
    raised: shown(counted?.raised ?? 0, cap.mode),
  };
  return viewWith(cap, amounts, nowMs);
}

function viewWith(
  cap: ValueCapRecord,
  { counted, used, raised }: { readonly counted: number; readonly used: number; readonly raised: number },
  nowMs: number,
): CapByValueView {
  const { label, value, period, mode } = cap;
  const raisedAll = cap.extraPeriodMs === periodStart(period, nowMs) ? shown(cap.extra, mode) : 0;
  const fixed = (name: string) => (label === name ? value : null);
  return {
    id: cap.id,
    limit: shown(cap.limit, mode),
    period,
    models: cap.models,
    raised_by: value === null ? raisedAll : raisedAll + raised,
    used: value === null ? null : used,
    mode,
    each: value === null ? label : null,
    owner: fixed("owner"),
    user: fixed("user"),
    tag: value !== null && label.startsWith(tagPrefix) ? `${label.slice(tagPrefix.length)}=${value}` : null,
    key: cap.keyId,
    account: cap.accountId,
    optional: cap.isOptional,
    values: cap.maxValues,
    then: cap.thenModel,
    then_always: cap.thenAlways,
    counted,
    resets_at: iso(nextPeriodStart(period, nowMs) ?? 0),
    notes: [],
  };
}

/** A cap of a key or an account, which counts all that it spends. */
export function ownedCapView(cap: OwnedCap, nowMs: number): ListedCapView {
  const { mode, period, models } = cap;
  const bound = cap.keyId === null ? "account_cap" : "key_cap";
  const [state] = capStates([cap], new Map([[cap.no, cap]]), bound, nowMs);
  return {
    id: null,
    limit: shown(cap.limit, mode),
    period,
    models,
    raised_by: shown(state?.extra ?? 0, mode),
    used: shown(state?.used ?? 0, mode),
    mode,
    ...{ each: null, owner: null, user: null, tag: null },
    key: cap.keyId,
    account: cap.accountId,
    ...{ optional: false, values: 1, then: null, then_always: false, counted: 0, notes: [] },
    resets_at: iso(state?.resetsAtMs ?? 0),
  };
}
