import { assert } from "../../../base/assert.ts";
import type { AttemptSums, ExchangeEnding } from "../../records.ts";
import { endingColumns, endingRow } from "../../written-rows.ts";
import type { Query } from "../client.ts";
import { attemptRow } from "../lanes/hold-end.ts";
import { rowsText } from "../lanes/row-text.ts";
import { storableJson } from "../text.ts";

/** Writes the outcomes of uncharged exchanges. */
export async function insertEndings(
  query: Query,
  endings: readonly ExchangeEnding[],
  attempts: readonly AttemptSums[],
): Promise<void> {
  const counts = attempts.map((sums) => [0, sums.day, sums] as const);
  const [row] = await query<{ written: number }>(insertAll, [
    storableJson(endings.map((ending) => ({ key: ending.keyId, ...endingRow(ending) }))),
    rowsText(counts, attemptRow),
  ]);
  assert(row?.written === endings.length, "every ending is of a key that exists");
}

const insertAll = `
WITH written AS (
  INSERT INTO exchange_endings (key_no, ${endingColumns.join(", ")})
  SELECT keys.no, ${endingColumns.map((column) => `e.${column}`).join(", ")}
  FROM json_array_elements($1::text::json) WITH ORDINALITY AS j(item, place) JOIN keys ON keys.id = j.item ->> 'key'
    CROSS JOIN LATERAL json_populate_record(NULL::exchange_endings, j.item) AS e
  ORDER BY j.place
  RETURNING id
)
SELECT (SELECT count(*)::int FROM written) AS written, sluice_count_attempts(0, $2::sluice_attempt[])`;
