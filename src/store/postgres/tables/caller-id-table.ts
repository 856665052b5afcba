import type { CallerId } from "../../records.ts";
import type { Query } from "../client.ts";

export async function insertCallerIds(query: Query, callerIds: readonly CallerId[]): Promise<void> {
  await query(insertAll, [
    callerIds.map(({ callerId }) => callerId),
    callerIds.map(({ exchangeId }) => exchangeId),
    callerIds.map(({ atMs }) => atMs),
  ]);
}

const insertAll = `
INSERT INTO caller_ids (caller_id, exchange_id, at_ms)
SELECT * FROM unnest($1::text[], $2::text[], $3::int8[])`;
