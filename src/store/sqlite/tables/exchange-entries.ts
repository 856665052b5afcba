import { type EntryRow, entryOf, selectEntries } from "../../entry-row.ts";
import type { Query } from "../../query.ts";
import type { Entry } from "../../records.ts";
import type { EntryFinder } from "../../reporting/exchange-search.ts";
import { newestId, rowsPerPiece } from "../../reporting/row-search.ts";

const giveUpMs = 5_000;
/** An overrun is written right after its charge, in the same transaction. */
const neighbours = 600;

/** Entries have no index on exchange ids, so an exchange whose entry is unknown is searched for, newest first. */
export function entryFinder(read: Query): EntryFinder {
  const entriesNear = async (exchangeId: string, id: number): Promise<readonly Entry[]> => {
    const rows = await read<EntryRow>(
      `${selectEntries} WHERE entries.id BETWEEN $1 AND $2 AND entries.exchange_id = $3 ORDER BY entries.id`,
      [id - neighbours, id + neighbours, exchangeId],
    );
    return rows.map(entryOf);
  };
  return async (exchangeId, near) => {
    const known = near === null ? [] : await entriesNear(exchangeId, near);
    if (known.length > 0) return known;
    const giveUpAtMs = performance.now() + giveUpMs;
    let to = await newestId(read, "entries");
    for (; to > 0 && performance.now() < giveUpAtMs; to -= rowsPerPiece) {
      const [found] = await read<{ id: number }>(
        "SELECT id FROM entries WHERE id BETWEEN $1 AND $2 AND exchange_id = $3 LIMIT 1",
        [to - rowsPerPiece + 1, to, exchangeId],
      );
      if (found !== undefined) return entriesNear(exchangeId, found.id);
    }
    return [];
  };
}
