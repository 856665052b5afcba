import { type EntryRow, entryOf, selectEntries } from "../../entry-row.ts";
import type { Entry } from "../../records.ts";
import type { Query } from "../client.ts";

/** Each half has an index of its own. */
export async function entriesOfExchange(query: Query, exchangeId: string): Promise<readonly Entry[]> {
  const halves = ["kind = 'charge'", "kind <> 'charge'"].map(
    (kind) => `entries.exchange_id = $1 AND ${kind}`,
  );
  const condition = `WHERE ${halves.join(` UNION ALL ${selectEntries} WHERE `)} ORDER BY id`;
  return (await query<EntryRow>(`${selectEntries} ${condition}`, [exchangeId])).map(entryOf);
}
