import { query } from "../../query.ts";
import { StoreError } from "../../store.ts";
import type { StoreCreation } from "../../tables/retried-creation.ts";
import { responseRow } from "../../written-rows.ts";

/** The claim is a row without a response. */
export const storeCreation: StoreCreation = function* ({ response, exchangeId }) {
  const { route, idempotency_key: name, ...row } = responseRow(response);
  const stored = yield* query(
    `UPDATE responses SET node_no = NULL, status = $5::int, headers = $6::text, stored_at_ms = $7::int8, body = $8, bytes = $9::int8
    WHERE key_no = (SELECT no FROM keys WHERE id = $1::text) AND route = $2::text AND idempotency_key = $3::text
      AND exchange_id = $4::text AND stored_at_ms IS NULL RETURNING 1`,
    [
      ...[response.keyId, route, name, exchangeId, row.status, row.headers, row.stored_at_ms],
      ...[response.body, row.bytes],
    ],
  );
  if (stored.length > 0) return;
  // Its gateway was taken for dead.
  throw new StoreError("unreachable", "Another gateway runs this request now.");
};
