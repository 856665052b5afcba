import type { NearValue } from "../../store/store.ts";
import type { OperationContext } from "../context.ts";
import { shown } from "../key-terms/cap-document.ts";
import { listedCap, ownedCapView } from "./cap-view.ts";
import type { ListedCapView, NearValueView } from "./schema.ts";

/** Caps by value, then the caps of keys and accounts. */
export async function listCaps({ store, clock }: OperationContext): Promise<readonly ListedCapView[]> {
  const nowMs = clock.wallMs();
  const counted = new Map((await store.countedValues(nowMs)).map((each) => [each.capNo, each]));
  const byValue = (await store.valueCaps()).map((cap) => listedCap(cap, counted.get(cap.no), nowMs));
  return [...byValue, ...(await store.ownedCaps()).map((cap) => ownedCapView(cap, nowMs))];
}

/** Values, and caps of keys and accounts, that have used this share of their limit, the nearest to it first. */
export async function valuesNear(
  { store, clock }: OperationContext,
  share: number,
): Promise<readonly NearValueView[]> {
  const nowMs = clock.wallMs();
  const values = (await store.alerts.nearValues(share, nowMs)).map(nearView);
  const owned = (await store.ownedCaps())
    .map((cap) => nearOwned(ownedCapView(cap, nowMs)))
    .filter(({ used, limit }) => used > 0 && used >= limit * share);
  return [...values, ...owned].toSorted((one, other) => other.used / other.limit - one.used / one.limit);
}

function nearView(near: NearValue): NearValueView {
  const { capId, mode, label, period, models, keyId, accountId, value, limit, used, raised } = near;
  return {
    cap: capId,
    label,
    value: value || null,
    key: keyId,
    account: accountId,
    period,
    models,
    mode,
    used: shown(used, mode),
    limit: shown(limit, mode),
    left: shown(Math.max(0, limit - used), mode),
    raised_by: shown(raised, mode),
  };
}

function nearOwned(view: ListedCapView): NearValueView {
  const { key, account, period, models, mode, raised_by, used: counted } = view;
  const [used, limit] = [counted ?? 0, view.limit + raised_by];
  const left = Math.max(0, Number((limit - used).toFixed(9)));
  return {
    cap: null,
    label: null,
    value: null,
    key,
    account,
    period,
    models,
    mode,
    used,
    limit,
    left,
    raised_by,
  };
}
