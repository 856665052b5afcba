/**
 * The ledger is a chain. A hash of it, kept elsewhere, shows later whether anything before it was changed:
 *
 * 1. The entries of an account are linked in the order of their ids. An account is charged under its lock, or by the one process
 *    that writes, so its ids grow in the order in which its entries are committed. Accounts need no order among each other.
 * 2. An entry's hash is the SHA-256 of its text and of the hash before it of its account. An account's first entry
 *    follows the opening hash, computed from the account's id. The account keeps the newest hash.
 * 3. The text names every fact of an entry that never changes, in a fixed order: numbers in decimal, texts after their length,
 *    and `-` for nothing. It begins with its version. A column that is added later is appended only where it has a value,
 *    so older hashes stay valid.
 * 4. Entries from before the chain have no hash of their own. They are joined by one hash for all accounts, in the order of their ids.
 * 5. An anchor joins everything up to an entry's id: the anchor before it, the newest hash of each account that has got
 *    entries since, and the hash of the entries without one. It is made for every 50,000 entries, once a day, and when an operator asks.
 * 6. So a part of the chain can be verified by itself, from the hashes before it: `ChainState` is all that it needs.
 *
 * The hashes are truncated to 192 bits, 32 characters: two texts with the same hash cost 2^96 attempts. SHA-256 takes 1.4 µs for
 * the 300 bytes of a charge on a processor without instructions for it, and its text 0.7 µs. BLAKE2b takes as long, JSON longer.
 */

/** The columns of an entry that its hash covers, by their names in both databases. */
export interface ChainedRow {
  readonly kind: string;
  readonly amount: number;
  readonly at_ms: number;
  readonly period_start_ms: number;
  readonly counted_at_ms: number | null;
  readonly exchange_id: string | null;
  readonly basis: string | null;
  readonly outcome: string | null;
  readonly reference?: string | null;
  readonly note?: string | null;
  readonly rates_id: number | null;
  readonly quantities: string | null;
  readonly list_cost_nano: number | null;
  readonly cache_savings_nano: number | null;
  readonly labels: string | null;
  readonly recorded_at_ms: number | null;
  readonly route: string | null;
  readonly model: string | null;
  readonly asked_model: string | null;
  readonly provider: string | null;
  readonly upstream_model: string | null;
  readonly stream: boolean | number | null;
  readonly status: number | null;
  readonly input_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly cache_write_tokens: number | null;
  readonly output_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly cost_nano: number | null;
  readonly first_byte_ms: number | null;
  readonly total_ms: number | null;
  readonly attempts: number | null;
}

/** An entry's place in the chain. `keyId` is null for what concerns an account alone. */
export interface ChainPlace {
  readonly id: number;
  readonly accountId: string;
  readonly keyId: string | null;
}

const hashLength = 32;

/** The hash before an account's first entry. */
export function openingHash(accountId: string): string {
  return digest(`ledger account 1 ${text(accountId)}`);
}

/** The hash of an entry. `previous` is the hash before it; null for the account's first entry. */
export function entryHash(previous: string | null, place: ChainPlace, row: ChainedRow): string {
  return digest(`${previous ?? openingHash(place.accountId)} ${entryText(place, row)}`);
}

/** The joint hash of the entries without their own, with one more. */
export function unchainedHash(previous: string, place: ChainPlace, row: ChainedRow): string {
  return digest(`${previous} ${text(place.accountId)} ${entryText(place, row)}`);
}

/** One literal: put together from a list of columns it takes three times as long. */
function entryText({ id, keyId }: ChainPlace, row: ChainedRow): string {
  return (
    `1 ${id} ${text(keyId)} ${text(row.kind)} ${row.amount} ${row.at_ms} ${row.period_start_ms} ${row.counted_at_ms ?? "-"} ` +
    `${text(row.exchange_id)} ${text(row.basis)} ${text(row.outcome)} ${text(row.reference ?? null)} ${text(row.note ?? null)} ` +
    `${row.rates_id ?? "-"} ${text(row.quantities)} ${row.list_cost_nano ?? "-"} ${row.cache_savings_nano ?? "-"} ` +
    `${text(row.labels)} ${row.recorded_at_ms ?? "-"} ${text(row.route)} ${text(row.model)} ${text(row.asked_model)} ` +
    `${text(row.provider)} ${text(row.upstream_model)} ${row.stream === null ? "-" : Number(row.stream)} ${row.status ?? "-"} ` +
    `${row.input_tokens ?? "-"} ${row.cached_input_tokens ?? "-"} ${row.cache_write_tokens ?? "-"} ${row.output_tokens ?? "-"} ` +
    `${row.reasoning_tokens ?? "-"} ${row.cost_nano ?? "-"} ${row.first_byte_ms ?? "-"} ${row.total_ms ?? "-"} ${row.attempts ?? "-"}`
  );
}

export function text(value: string | null): string {
  return value === null ? "-" : `${value.length}:${value}`;
}

export function digest(chained: string): string {
  return Bun.SHA256.hash(chained, "base64url").slice(0, hashLength);
}
