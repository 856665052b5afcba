import { nextPeriodStart } from "../../base/money/period.ts";
import { type BoundValueCap, valueCapsOfAccounts, valueCapsOfKeys } from "../../ledger/bound-value-caps.ts";
import type { AccountRecord, KeyRecord } from "../../store/store.ts";
import type { OperationContext } from "../context.ts";
import { isoOrNull } from "../moments.ts";
import { shown } from "./cap-document.ts";
import type { BoundCapView } from "./schema.ts";

/** The caps by value of each key. */
export async function capsOfKeys(
  { store, clock }: OperationContext,
  keys: readonly KeyRecord[],
): Promise<BoundCapView[][]> {
  const nowMs = clock.wallMs();
  return viewsOf(await valueCapsOfKeys(store, keys, nowMs), nowMs);
}

/** The caps by value within each account, and the caps of its tags. */
export async function capsOfAccounts(
  { store, clock }: OperationContext,
  accounts: readonly AccountRecord[],
): Promise<BoundCapView[][]> {
  const nowMs = clock.wallMs();
  return viewsOf(await valueCapsOfAccounts(store, accounts, nowMs), nowMs);
}

function viewsOf(all: readonly (readonly BoundValueCap[])[], nowMs: number): BoundCapView[][] {
  return all.map((caps) => caps.map((cap) => viewOf(cap, nowMs)));
}

function viewOf({ cap, value, used, limit }: BoundValueCap, nowMs: number): BoundCapView {
  const { id, label, mode, period, models, thenModel } = cap;
  return {
    cap: id,
    label,
    value,
    limit: shown(limit, mode),
    raised_by: shown(limit - cap.limit, mode),
    period,
    models,
    used: value === null ? null : shown(used, mode),
    resets_at: isoOrNull(nextPeriodStart(period, nowMs)),
    then: thenModel,
  };
}
