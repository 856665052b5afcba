import type { Usage } from "../../base/usage.ts";
import { Parameters, type Query } from "../query.ts";
import { ofKey } from "../reporting/row-search.ts";
import type { NumberedUsage, UsageQuery } from "../store.ts";
import { splitUsage, usageColumns } from "../usage-columns.ts";

interface UsageRow extends Omit<NumberedUsage, "usage" | "stream">, Usage {
  /** SQLite has 0 and 1 for false and true. */
  readonly stream: number | boolean;
}

/** The usage records one by one. */
export async function listUsage(
  query: Query,
  { beforeId = Number.MAX_SAFE_INTEGER, limit, keyId, outcome }: UsageQuery,
): Promise<readonly NumberedUsage[]> {
  const parameters = new Parameters();
  const conditions = [`entries.id < ${parameters.add(beforeId)}`, "recorded_at_ms IS NOT NULL"];
  if (keyId !== undefined) conditions.push(ofKey(keyId, parameters));
  if (outcome !== undefined) conditions.push(`outcome = ${parameters.add(outcome)}`);
  const rows = await query<UsageRow>(
    `${selectUsage} WHERE ${conditions.join(" AND ")} ORDER BY entries.id DESC LIMIT ${parameters.add(limit)}`,
    parameters.all,
  );
  return rows.map((row) => {
    const { usage, rest } = splitUsage(row);
    return { ...rest, stream: Boolean(rest.stream), usage };
  });
}

const selectUsage = `
SELECT entries.id::float8 AS id, exchange_id AS "exchangeId", keys.id AS "keyId", recorded_at_ms::float8 AS "atMs",
  route, model, provider, upstream_model AS "upstreamModel", stream, outcome, entries.status,
  ${usageColumns}, basis, cost_nano::float8 AS "costNano",
  first_byte_ms::float8 AS "firstByteMs", total_ms::float8 AS "totalMs", attempts
FROM entries JOIN keys ON keys.no = entries.key_no`;
