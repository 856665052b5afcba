import { msPerMinute } from "../../../base/clock.ts";
import { totalInput } from "../../../base/usage/usage.ts";
import type { ChargeEntry, UsageRecord } from "../../records.ts";
import { bandOf } from "../../reporting/latency-bands.ts";
import { msColumn } from "../../stored-columns.ts";
import { type MutableTotals, totalNames, zeroTotals } from "../../usage-totals.ts";

/** An entry of a request, as it is written. */
export interface WrittenEntry {
  readonly kind: "charge" | "overrun";
  readonly amount: number;
  readonly key: { readonly no: number; readonly isCredit: boolean };
  readonly charge: ChargeEntry;
  readonly record: UsageRecord | null;
  readonly savingsNano: number | null;
}

/** Entries that `groupRows` would put into one group, added up. */
export interface EntryGroup {
  readonly minute: number;
  readonly keyNo: number;
  readonly model: string;
  readonly provider: string;
  readonly firstByteBand: number;
  readonly totalBand: number;
  readonly totals: MutableTotals;
}

/**
 * Adds up entries as they are written. SQL could group the same rows later, but that takes 6 µs a request, a twentieth of its
 * CPU time. The view `entry_figures` defines what each total counts; `addTo` must say the same, and a test compares them.
 */
export class UncountedEntries {
  #groups = new Map<string, EntryGroup>();
  /** Requests come in runs, and comparing is cheaper than building a name. */
  #latest: EntryGroup | null = null;
  /** The newest entry before those added up here; null if some are missing here. */
  #countedThrough: number | null = null;

  add(entry: WrittenEntry): void {
    if (this.#countedThrough === null) return;
    const { charge, record, key } = entry;
    const firstByteMs = msColumn(record?.firstByteMs ?? null);
    const totalMs = msColumn(record?.totalMs ?? null);
    const { model, provider } = record ?? charge;
    const minute = Math.floor(charge.atMs / msPerMinute);
    const bands = [bandOf(firstByteMs ?? 0), bandOf(totalMs ?? 0)] as const;
    const { totals } = this.#groupOf(minute, key.no, model, provider, ...bands);
    addTo(totals, entry, firstByteMs, totalMs);
  }

  get groups(): Iterable<EntryGroup> {
    return this.#groups.values();
  }

  /** Whether every entry after this one is added up here, in numbers that a double holds exactly. */
  isComplete(countedThrough: number): boolean {
    return this.#countedThrough === countedThrough && this.#groups.values().every(isExact);
  }

  /** The tables of totals include all entries up to this one. */
  restart(countedThrough: number): void {
    this.forget();
    this.#countedThrough = countedThrough;
  }

  /** Call it after a rollback: it is unknown then which of the added entries are in the database. */
  forget(): void {
    this.#groups = new Map();
    this.#latest = null;
    this.#countedThrough = null;
  }

  #groupOf(
    minute: number,
    keyNo: number,
    model: string,
    provider: string,
    firstByteBand: number,
    totalBand: number,
  ): EntryGroup {
    const latest = this.#latest;
    const isSameTime = latest?.minute === minute && latest.firstByteBand === firstByteBand;
    if (isSameTime && latest.totalBand === totalBand && latest.keyNo === keyNo) {
      if (latest.model === model && latest.provider === provider) return latest;
    }
    const name = `${minute} ${keyNo} ${firstByteBand} ${totalBand} ${provider}\n${model}`;
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { minute, keyNo, model, provider, firstByteBand, totalBand, totals: zeroTotals() };
      this.#groups.set(name, group);
    }
    this.#latest = group;
    return group;
  }
}

/** Adds one row, like the view `entry_figures`. */
function addTo(
  totals: MutableTotals,
  { kind, amount, key, charge, record, savingsNano }: WrittenEntry,
  firstByteMs: number | null,
  totalMs: number | null,
): void {
  const { outcome } = charge;
  if (kind === "charge") totals[outcome] += 1;
  const spend = Math.max(-amount, 0);
  const overrun = Math.max(amount, 0);
  if (key.isCredit) {
    totals.spendNano += spend;
    totals.overrunNano += overrun;
    if (outcome === "cancelled") totals.cancelledSpendNano += spend;
    if (outcome === "interrupted") totals.interruptedSpendNano += spend;
  } else {
    totals.spendTokens += spend;
    totals.overrunTokens += overrun;
    if (outcome === "cancelled") totals.cancelledSpendTokens += spend;
    if (outcome === "interrupted") totals.interruptedSpendTokens += spend;
  }
  totals.listCostNano += charge.listCostNano ?? 0;
  if (record === null) return;
  totals.requests += 1;
  totals.inputTokens += totalInput(record.usage);
  totals.cachedInputTokens += record.usage.cachedInputTokens;
  totals.outputTokens += record.usage.outputTokens;
  totals.cacheSavingsNano += savingsNano ?? 0;
  totals.firstByteMs += firstByteMs ?? 0;
  totals.firstByteCount += firstByteMs === null ? 0 : 1;
  totals.totalMs += totalMs ?? 0;
  totals.totalCount += totalMs === null ? 0 : 1;
}

function isExact({ totals }: EntryGroup): boolean {
  return totalNames.every((name) => Number.isSafeInteger(totals[name]));
}
