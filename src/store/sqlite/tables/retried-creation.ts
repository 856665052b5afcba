import { query } from "../../query.ts";
import type { StoreCreation } from "../../tables/retried-creation.ts";
import { responseRow } from "../../written-rows.ts";

/** One process holds all claims. An older response that was not deleted yet has expired. */
export const storeCreation: StoreCreation = function* ({ response }) {
  const { route, idempotency_key: name, ...row } = responseRow(response);
  yield* query(
    `DELETE FROM responses WHERE key_no = (SELECT no FROM keys WHERE id = $1) AND route = $2 AND idempotency_key = $3`,
    [response.keyId, route, name],
  );
  yield* query(
    `INSERT INTO responses (key_no, route, idempotency_key, body_hash, status, headers, stored_at_ms, parts, body, bytes)
    SELECT no, $2, $3, $4, $5, $6, $7, 0, $8, $9 FROM keys WHERE id = $1`,
    [
      ...[response.keyId, route, name, row.body_hash, row.status, row.headers, row.stored_at_ms],
      ...[response.body, row.bytes],
    ],
  );
};
