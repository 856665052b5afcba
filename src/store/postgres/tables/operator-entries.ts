import { assert } from "../../../base/assert.ts";
import { checkOperatorEntry, operatorEntryOf, repeatedEntry } from "../../operator-entry.ts";
import type { OperatorEntry, RecordedEntry } from "../../store.ts";
import type { Query } from "../client.ts";
import { requireAccount } from "./account-table.ts";
import { accountTotals, entryByReference } from "./entry-table.ts";
import { requireKey } from "./key-table.ts";
import { lockRevision, raiseRevision } from "./revision.ts";

/** A top-up or an adjustment. Inside the caller's transaction. */
export async function recordOperatorEntry(
  query: Query,
  kind: "topup" | "adjustment",
  entry: OperatorEntry,
): Promise<RecordedEntry> {
  await lockRevision(query);
  const key = entry.keyId === null ? null : await requireKey(query, entry.keyId);
  const { no: accountNo, account } = await requireAccount(query, key?.key.accountId ?? entry.accountId ?? "");
  const { reference } = entry;
  const earlier = reference === null ? null : await entryByReference(query, accountNo, reference);
  if (earlier !== null) return repeatedEntry(earlier, kind, entry);
  const totals = await accountTotals(query, accountNo, { lock: true });
  checkOperatorEntry(kind, entry, account, key?.key.prefix ?? account.id, totals);
  const [row] = await query<{ id: number }>(insertEntry, [
    accountNo,
    // Of an account alone, it is no key's.
    key?.no ?? 0,
    kind,
    entry.amountNano,
    entry.atMs,
    reference,
    entry.note,
    await raiseRevision(query),
  ]);
  assert(row !== undefined, "a new entry has an id");
  return { entry: operatorEntryOf(row.id, kind, entry, account.id), repeated: false };
}

const insertEntry = `
WITH entry AS (
  INSERT INTO entries (month, account_no, key_no, kind, amount, at_ms, reference, note, revision)
  VALUES (sluice_month($5::int8), $1::int, $2::int, $3, $4::int8, $5::int8, $6, $7, $8::int8)
  RETURNING id, month, account_no, reference, amount
), account AS (
  UPDATE accounts SET posted = posted + amount, purchased = purchased + amount FROM entry WHERE no = account_no
), reference AS (
  INSERT INTO entry_references (account_no, reference, entry_id, month)
  SELECT account_no, reference, id, month FROM entry WHERE reference IS NOT NULL
)
SELECT id::float8 AS id FROM entry`;
