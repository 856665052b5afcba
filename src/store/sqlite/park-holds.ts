import type { OwnedHold } from "../provider-batch-records.ts";
import { query, type Work } from "../query.ts";

/** They were in memory only. */
export function* parkHolds(holds: readonly OwnedHold[]): Work<boolean> {
  for (const hold of holds) {
    const { holdId, keyId, accountId, openedAtMs, periodStartMs, countedAtMs, model, requestedModel } = hold;
    yield* query(insertHold, [
      ...[holdId, keyId, accountId, openedAtMs, periodStartMs, countedAtMs, model, requestedModel],
      ...[hold.labels, hold.amount],
    ]);
  }
  return true;
}

const insertHold = `
INSERT INTO holds (id, key_no, account_no, opened_at_ms, period_start_ms, counted_at_ms, charge_so_far, model, asked_model, labels, is_parked, amount)
SELECT $1, keys.no, nullif(accounts.no, keys.no), $4, $5, $6, 0, $7, $8, $9, 1, $10 FROM keys, accounts WHERE keys.id = $2 AND accounts.id = $3`;
