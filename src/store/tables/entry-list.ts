import { type ListedRow, listedEntryOf, selectListed } from "../entry-row.ts";
import { Parameters, type Query } from "../query.ts";
import { ofKey } from "../reporting/row-search.ts";
import type { EntryQuery, ListedEntry } from "../store.ts";

/** Oldest first. `throughId` excludes entries after which an earlier id may still be written. */
export async function listEntries(
  query: Query,
  { afterId, limit, keyId, sinceMs = 0, untilMs = Number.MAX_SAFE_INTEGER }: EntryQuery,
  throughId = Number.MAX_SAFE_INTEGER,
): Promise<readonly ListedEntry[]> {
  const parameters = new Parameters();
  const conditions = [
    `entries.id > ${parameters.add(afterId)} AND entries.id <= ${parameters.add(throughId)}`,
    `entries.at_ms >= ${parameters.add(sinceMs)} AND entries.at_ms < ${parameters.add(untilMs)}`,
  ];
  if (keyId !== undefined) conditions.push(`entries.${ofKey(keyId, parameters)}`);
  const rows = await query<ListedRow>(
    `${selectListed} WHERE ${conditions.join(" AND ")} ORDER BY entries.id LIMIT ${parameters.add(limit)}`,
    parameters.all,
  );
  return rows.map(listedEntryOf);
}
