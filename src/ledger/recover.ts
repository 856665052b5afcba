import type { HoldProgress, JournalItem, Store } from "../store/store.ts";
import type { Account } from "./account.ts";

const holdsPerCommit = 500;

/**
 * Ends the holds that a crash left open: each is charged for what it had produced, without a usage record. Resolves
 * when all of that is durable.
 */
export async function recoverHolds(
  store: Store,
  holds: readonly HoldProgress[],
  accountOf: (keyId: string) => Account,
  atMs: number,
): Promise<void> {
  const items = holds.map((hold) => interrupt(hold, accountOf(hold.keyId), atMs));
  const commits: Promise<void>[] = [];
  for (let from = 0; from < items.length; from += holdsPerCommit) {
    commits.push(store.commit(items.slice(from, from + holdsPerCommit)));
  }
  await Promise.all(commits);
}

function interrupt(
  { holdId, keyId, periodStartMs, chargeSoFar }: HoldProgress,
  account: Account,
  atMs: number,
): JournalItem {
  const settled = account.settleInterrupted(chargeSoFar, periodStartMs, atMs);
  return {
    kind: "settle",
    holdId,
    hasProgress: true,
    charge: {
      keyId,
      exchangeId: holdId,
      atMs,
      periodStartMs,
      ...settled,
      basis: "estimated",
      outcome: "interrupted",
    },
    record: null,
    response: null,
  };
}
