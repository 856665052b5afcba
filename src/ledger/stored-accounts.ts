import { assert } from "../base/assert.ts";
import { type CapRecord, type CapTotals, emptyAccount, emptyKey, type Store } from "../store/store.ts";
import type { AccountSummary } from "./key-funds.ts";
import { fundsOf } from "./shared-accounts.ts";

type ReadStore = Pick<Store, "findKey" | "findAccount" | "readAccounts" | "readTotals">;

/** Summaries of keys' accounts from the store, for a process that is not a gateway: without open requests. */
export async function storedSummaries(
  store: ReadStore,
  keyIds: readonly string[],
  nowMs: number,
): Promise<readonly AccountSummary[]> {
  return Array.fromAsync(keyIds, (keyId) => storedSummary(store, keyId, nowMs));
}

async function storedSummary(store: ReadStore, keyId: string, nowMs: number): Promise<AccountSummary> {
  const key = await store.findKey(keyId);
  assert(key !== null, "unknown key", keyId);
  const { accountId } = key;
  const totals = (await store.readTotals(keyId)) ?? { ...emptyAccount(accountId), ...emptyKey(keyId) };
  const shared = (await store.findAccount(accountId))?.caps ?? [];
  const hasCaps = shared.length + key.caps.length > 0;
  const [standing] = hasCaps ? await store.readAccounts([accountId]) : [];
  const counted = new Map((standing?.caps ?? []).map((each) => [each.no, each]));
  const state = { terms: key, totals, held: 0, keyCaps: counting(key.caps), accountCaps: counting(shared) };
  return fundsOf(key, state).summary(nowMs);

  function counting(caps: readonly CapRecord[]) {
    return caps.map((cap) => ({ ...cap, ...(counted.get(cap.no) ?? uncounted(cap)), held: 0 }));
  }
}

function uncounted({ no }: CapRecord): CapTotals {
  return { no, periodStartMs: 0, used: 0 };
}
