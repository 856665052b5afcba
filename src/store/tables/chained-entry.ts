import { assert } from "../../base/assert.ts";
import { type ChainedRow, entryHash } from "../../base/money/chain.ts";
import type { ChainedEntry, OwnStatements, PlainEntry } from "../own-statements.ts";
import { query, type Work } from "../query.ts";

interface Head {
  readonly accountId: string;
  readonly keyId: string | null;
  readonly previous: string | null;
}

/** Links an entry to the chain of its account, which must be locked. */
export function* chainEntry<Kind extends PlainEntry["kind"]>(
  own: OwnStatements,
  { accountNo, keyNo }: { readonly accountNo: number; readonly keyNo: number },
  entry: PlainEntry & { readonly kind: Kind },
): Work<ChainedEntry<Kind>> {
  const [head] = yield* query<Head>(
    `SELECT accounts.id AS "accountId", chain_hash AS previous, (SELECT nullif(keys.id, '') FROM keys WHERE keys.no = $2::int) AS "keyId"
    FROM accounts WHERE accounts.no = $1::int`,
    [accountNo, keyNo],
  );
  assert(head !== undefined, `there is no account ${accountNo}`);
  const id = yield* own.nextEntryId();
  const { kind, amount, atMs, reference, note } = entry;
  const row = { ...withoutRequest, kind, amount, at_ms: atMs, reference, note };
  const hash = entryHash(head.previous, { id, ...head }, row);
  yield* query("UPDATE accounts SET chain_hash = $1 WHERE no = $2::int", [hash, accountNo]);
  return { ...entry, id, hash };
}

/** The columns of an entry that is about no request. */
export const withoutRequest: Omit<ChainedRow, "kind" | "amount" | "at_ms"> = {
  period_start_ms: 0,
  counted_at_ms: null,
  exchange_id: null,
  basis: null,
  outcome: null,
  rates_id: null,
  quantities: null,
  list_cost_nano: null,
  cache_savings_nano: null,
  labels: null,
  recorded_at_ms: null,
  route: null,
  model: null,
  asked_model: null,
  provider: null,
  upstream_model: null,
  stream: null,
  status: null,
  input_tokens: null,
  cached_input_tokens: null,
  cache_write_tokens: null,
  output_tokens: null,
  reasoning_tokens: null,
  cost_nano: null,
  first_byte_ms: null,
  total_ms: null,
  attempts: null,
};
