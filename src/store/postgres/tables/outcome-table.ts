import { assert } from "../../../base/assert.ts";
import type { AttemptSums, OutcomeRecord } from "../../records.ts";
import { outcomeColumns, outcomeRow } from "../../written-rows.ts";
import type { Query } from "../client.ts";
import { attemptRow } from "../lanes/batch-rows.ts";
import { storableJson } from "../text.ts";

/** Writes the outcomes of uncharged exchanges. */
export async function insertOutcomes(
  query: Query,
  records: readonly OutcomeRecord[],
  attempts: readonly AttemptSums[],
): Promise<void> {
  const [row] = await query<{ written: number }>(insertAll, [
    storableJson(records.map((record) => ({ key: record.keyId, ...outcomeRow(record) }))),
    storableJson(attempts.map(attemptRow)),
  ]);
  assert(row?.written === records.length, "every record is of a key that exists");
}

const insertAll = `
WITH written AS (
  INSERT INTO exchange_endings (key_no, ${outcomeColumns.join(", ")})
  SELECT keys.no, ${outcomeColumns.map((column) => `e.${column}`).join(", ")}
  FROM json_array_elements($1::text::json) WITH ORDINALITY AS j(item, place) JOIN keys ON keys.id = j.item ->> 'key'
    CROSS JOIN LATERAL json_populate_record(NULL::exchange_endings, j.item) AS e
  ORDER BY j.place
  RETURNING id
)
SELECT (SELECT count(*)::int FROM written) AS written, sluice_count_attempts(0, $2::text::json)`;
