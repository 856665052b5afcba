const ofEntry = `
  entries.id AS entryId, recorded_at_ms IS NOT NULL AS hasRecord, input_tokens AS inputTokens,
  cached_input_tokens AS cachedInputTokens, cache_write_tokens AS cacheWriteTokens, output_tokens AS outputTokens,
  reasoning_tokens AS reasoningTokens, basis, coalesce(-amount, 0) AS charged, list_cost_nano AS listCostNano`;

const both = (table: string) => `
  ${table}.exchange_id AS exchangeId, keys.id AS keyId, ${table}.at_ms AS endedAtMs, ${table}.route, ${table}.model,
  ${table}.provider, ${table}.upstream_model AS upstreamModel, ${table}.stream, ${table}.outcome, ${table}.status,
  ${table}.first_byte_ms AS firstByteMs, ${table}.total_ms AS totalMs, ${table}.attempts`;

/** Usage records. */
export const selectRecord = `
SELECT entries.id AS rowId, recorded_at_ms AS startedAtMs, NULL AS code, NULL AS message, 0 AS alike, ${both("entries")},
  ${ofEntry}
FROM entries JOIN keys ON keys.no = entries.key_no`;

const endingColumns = `exchange_endings.id AS rowId, started_at_ms AS startedAtMs, code, message, alike,
  ${both("exchange_endings")}, ${ofEntry}`;
const endingTables = `exchange_endings JOIN keys ON keys.no = exchange_endings.key_no
LEFT JOIN entries ON entries.id = exchange_endings.entry_id`;

/** Kept endings, with what the ledger says of those that were charged. */
export const selectEnding = `SELECT ${endingColumns} FROM ${endingTables}`;
export const selectEndingWithAttempts = `SELECT ${endingColumns}, attempt_details AS attemptDetails FROM ${endingTables}`;
