import { nextLoopIteration } from "../../base/loop/pacer.ts";
import { type Anchor, AnchorFold } from "../../base/money/anchor.ts";
import type { AnchorOrder, ChainHead, ChainRecords } from "../chain-records.ts";
import type { Queries } from "../query.ts";
import type { Store } from "../store.ts";
import { StoreError } from "../store-error.ts";

/** Reading a page and hashing it takes a few milliseconds. */
const entriesPerPage = 500;

interface ChainParts extends Pick<Store, "listEntries">, Pick<ChainRecords, "isMixed"> {
  /** May take long. */
  readonly reading: Pick<Queries, "read">;
}

export function storedChain(
  { read, change }: Queries,
  { listEntries, isMixed, reading }: ChainParts,
): ChainRecords {
  const newest = async (throughId = Number.MAX_SAFE_INTEGER) => {
    const [row] = await read<Anchor>(
      `${selectAnchors} WHERE through_id <= $1::int8 ORDER BY no DESC LIMIT 1`,
      [throughId],
    );
    return row ?? null;
  };
  const insert = async ({ no, atMs, throughId, entries, unchained, unchainedHash, hash }: Anchor) => {
    const values = [no, atMs, throughId, entries, unchained, unchainedHash, hash];
    return (await change<{ no: number }>(insertAnchor, values)).length > 0;
  };

  return {
    isMixed,
    newest,
    heads: () =>
      reading.read<ChainHead>(
        `SELECT id AS "accountId", chain_hash AS hash FROM accounts WHERE chain_hash IS NOT NULL`,
      ),
    anchors: () => reading.read<Anchor>(`${selectAnchors} ORDER BY no`),

    async anchor({ nowMs, limit, acceptsUnchained }: AnchorOrder) {
      const before = await newest();
      const fold = new AnchorFold(before);
      let afterId = before?.throughId ?? 0;
      for (let isMore = true; isMore; ) {
        const page = Math.min(entriesPerPage, limit - fold.added);
        const entries = await listEntries({ afterId, limit: page });
        for (const entry of entries) {
          if (entry.hash === null && fold.hasChained && !acceptsUnchained) throw unchained(entry.id);
          fold.add(entry);
        }
        afterId = entries.at(-1)?.id ?? afterId;
        isMore = entries.length === page && fold.added < limit;
        await nextLoopIteration();
      }
      if (fold.added === 0) return before;
      const anchor = fold.seal(nowMs, afterId);
      return (await insert(anchor)) ? anchor : newest();
    },
  };
}

function unchained(id: number): StoreError {
  return new StoreError(
    "unchained",
    `Entry ${id} has no hash, although earlier ones do. It was written outside Sluice or by an older release; \`sluice ledger audit\` lists all such entries.`,
  );
}

const selectAnchors = `
SELECT no::float8 AS no, at_ms::float8 AS "atMs", through_id::float8 AS "throughId", entries::float8 AS entries,
  unchained::float8 AS unchained, unchained_hash AS "unchainedHash", hash
FROM anchors`;

const insertAnchor = `
INSERT INTO anchors (no, at_ms, through_id, entries, unchained, unchained_hash, hash)
VALUES ($1::int8, $2::int8, $3::int8, $4::int8, $5::int8, $6, $7) ON CONFLICT (no) DO NOTHING RETURNING no`;
