import { assert } from "../../../base/assert.ts";
import { type ChainedRow, entryHash } from "../../../base/money/chain.ts";
import type { AccountSums, BatchDecision, LockedAccount, LockedRows } from "../../shared-batch.ts";
import type { PostgresClient } from "../client.ts";
import { storableText } from "../text.ts";
import { entriesOf } from "./batch-rows.ts";

/** What a batch writes of the ledger: its entries with their numbers and hashes, and the accounts' newest hashes. */
export interface ChainedBatch {
  readonly accounts: readonly (AccountSums & {
    readonly no: number;
    readonly chainHash?: string | undefined;
  })[];
  readonly entries: readonly ChainedEntry[];
}

type ChainedEntry = ReturnType<typeof entriesOf>[number] & { readonly id: number; readonly hash: string };

/** Links the entries of a batch to the chains of their accounts, which are locked. */
export async function chainBatch(
  client: Pick<PostgresClient, "script">,
  { accounts, entryIds }: Pick<LockedRows, "accounts" | "entryIds">,
  decision: Pick<BatchDecision, "accounts" | "charges">,
): Promise<ChainedBatch> {
  if (decision.charges.length === 0) return { accounts: decision.accounts, entries: [] };
  const booked = decision.charges.flatMap((charge) => entriesOf(charge).map((row) => ({ charge, row })));
  const ids = [...entryIds, ...(await moreIds(client, booked.length - entryIds.length))];
  const locked = new Map(accounts.map((account) => [account.no, account]));
  const heads = new Map<number, string>();
  const entries = booked.map(({ charge, row }, place) => {
    const account = locked.get(charge.accountNo);
    const id = ids[place];
    assert(account !== undefined && id !== undefined, "a charge has a locked account and a number");
    const previous = heads.get(account.no) ?? account.chainHash;
    const { keyId } = charge.item.charge;
    const stored = storable(row);
    const hash = entryHash(previous, { id, accountId: account.id, keyId }, stored);
    heads.set(account.no, hash);
    return { ...stored, id, hash };
  });
  const changed = new Set(decision.accounts.map(({ no }) => no));
  const unchanged = accounts.filter(({ no }) => heads.has(no) && !changed.has(no)).map(sumsOf);
  const all = [...decision.accounts, ...unchanged];
  return { accounts: all.map((sums) => ({ ...sums, chainHash: heads.get(sums.no) })), entries };
}

/** For the costs above holds, which have entries of their own. They are rare. */
async function moreIds(client: Pick<PostgresClient, "script">, count: number): Promise<readonly number[]> {
  if (count <= 0) return [];
  const rows = await client.script<{ id: number }>(
    `SELECT nextval('entries_id_seq')::float8 AS id FROM generate_series(1, ${count})`,
  );
  return rows.map(({ id }) => id);
}

/** With the texts that the database returns, so that they have the same hash. */
function storable<Row extends ChainedRow>(row: Row): Row {
  const columns = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === "string" ? storableText(value) : value,
  ]);
  // Safe cast: only texts were replaced, by texts.
  return Object.fromEntries(columns) as Row;
}

function sumsOf(account: LockedAccount): AccountSums & { readonly no: number } {
  const { no, posted, held, usedDigits, periodStartMs, periodUsed, countedAtMs } = account;
  return { no, posted, held, usedDigits, periodStartMs, periodUsed, countedAtMs };
}
