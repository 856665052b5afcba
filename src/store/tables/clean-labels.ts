import { laterUseOf, laterUseText } from "../../base/money/later-use.ts";
import { cleanLabel } from "../../base/requests/labels.ts";
import type { OwnStatements } from "../own-statements.ts";
import { query, type Work } from "../query.ts";
import type { ValueTotals } from "../value-cap-records.ts";
import { lockRevision, raiseRevision } from "./revision.ts";
import { allValueCaps, allValueTotals, recountValues } from "./value-cap-table.ts";

/** The row of `cleaned_labels` that says that this was done. */
const done = "";
/** A row if it was done. */
export const selectCleaned = `SELECT 1 FROM cleaned_labels WHERE label = '${done}'`;

/**
 * Cleans owners, end users and tags once that were stored before they were cleaned on arrival. Caps count again what
 * the values have used that are the same now. Entries stay as they are: `cleaned_labels` has what their values are
 * counted as.
 */
export function* cleanStoredLabels(own: OwnStatements, nowMs: number): Work<void> {
  if ((yield* query(selectCleaned)).length > 0) return;
  yield* lockRevision();
  yield* own.lockMoney();
  yield* query("INSERT INTO cleaned_labels (label, cleaned) VALUES ($1, $1) ON CONFLICT DO NOTHING", [done]);
  const owners = yield* cleanOwners();
  yield* cleanHolds();
  const caps = yield* allValueCaps();
  const totals = yield* allValueTotals();
  const values = [...caps, ...totals].map(({ value }) => value ?? "");
  const odd = new Set(values.filter((value) => cleanLabel(value) !== value));
  for (const value of odd) yield* noteCleaned(value);
  const cleaned = new Set([...odd].map(cleanLabel));
  for (const { no, value } of caps)
    if (value !== null && odd.has(value))
      yield* query("UPDATE value_caps SET value = $1 WHERE no = $2::int", [cleanLabel(value), no]);
  const counted = Map.groupBy(totals, ({ capNo }) => capNo);
  for (const cap of caps) {
    const before = counted.get(cap.no) ?? [];
    const isSame = [cap, ...before].every(({ value }) => !cleaned.has(cleanLabel(value ?? "")));
    if (!isSame) yield* recountValues(own, cap, latestOf(before, nowMs), joinedBy(before));
  }
  if (owners.length + caps.length === 0) return;
  const revision = yield* raiseRevision();
  yield* query("UPDATE keys SET revision = $1::int8 WHERE no = ANY ($2::int[])", [revision, owners]);
}

/** Returns the numbers of the keys that it has changed. */
function* cleanOwners(): Work<number[]> {
  const keys = yield* query<{ no: number; owner: string }>(
    "SELECT no, owner FROM keys WHERE owner IS NOT NULL",
  );
  const changed = keys.filter(({ owner }) => cleanLabel(owner) !== owner);
  for (const { no, owner } of changed)
    yield* query("UPDATE keys SET owner = $1 WHERE no = $2::int", [cleanLabel(owner) || null, no]);
  return changed.map(({ no }) => no);
}

/** What they will be charged for counts by the cleaned values. */
function* cleanHolds(): Work<void> {
  for (const { id, labels } of yield* query<{ id: string; labels: string }>(
    "SELECT id, labels FROM holds WHERE labels IS NOT NULL",
  )) {
    const entries = Object.entries(JSON.parse(labels) as Record<string, string>);
    const cleaned = JSON.stringify(
      Object.fromEntries(
        entries.map(([name, value]) => [name, isCleaned(name) ? cleanLabel(value) : value] as const),
      ),
    );
    if (cleaned !== labels) yield* query("UPDATE holds SET labels = $1 WHERE id = $2", [cleaned, id]);
  }
}

function isCleaned(name: string): boolean {
  return /^\+?(?:owner$|user$|tag:)/.test(name);
}

/** A clock may have been ahead. */
function latestOf(before: readonly ValueTotals[], nowMs: number): number {
  return before.reduce((latestMs, { periodStartMs }) => Math.max(latestMs, periodStartMs), nowMs);
}

/** By their cleaned values: raises are added up, and what is known of later periods. */
function joinedBy(before: readonly ValueTotals[]): ValueTotals[] {
  const groups = Map.groupBy(before, ({ value }) => cleanLabel(value));
  return [...groups].flatMap(([value, [first, ...others]]) => {
    if (first === undefined) return [];
    const extraPeriodMs = Math.max(...[first, ...others].map((part) => part.extraPeriodMs));
    const raises = [first, ...others].filter((part) => part.extraPeriodMs === extraPeriodMs);
    const later = [first, ...others].flatMap(({ laterUsed }) => laterUseOf(laterUsed));
    const extra = raises.reduce((sum, part) => sum + part.extra, 0);
    return { ...first, value, laterUsed: laterUseText(later), extra, extraPeriodMs };
  });
}

function* noteCleaned(label: string): Work<void> {
  yield* query("INSERT INTO cleaned_labels (label, cleaned) VALUES ($1, $2) ON CONFLICT DO NOTHING", [
    label,
    cleanLabel(label),
  ]);
}
