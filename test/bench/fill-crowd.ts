import { Database } from "bun:sqlite";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { newId } from "../../src/base/id.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { type IssuedKey, issueKey } from "../../src/keys/issue.ts";
import { openStore } from "../../src/store/open.ts";
import type { AccountRecord, Store } from "../../src/store/store.ts";
import { writeHistory } from "./fill.ts";

export interface Crowd {
  /** Has every request, conversation and user; an owner of its own. */
  readonly busy: IssuedKey;
  /** The account that a tenth of the keys share. */
  readonly sharedAccount: string;
}

const msPerDay = 86_400_000;
export const crowdOwner = "member@example.com";

/**
 * Fills a data folder with `count` of everything that grows: keys (a tenth share an account, all expire within a week and belong to
 * one owner), accounts, users with a session and a model each, conversations, lines of the audit log. They share the requests.
 */
export async function fillCrowd(dir: string, count: number, requests = count): Promise<Crowd> {
  const store = await openStore({ dir, clock: systemClock, role: "gateway" });
  try {
    const sharedAccount = await insertAccounts(store, Math.ceil(count / 10));
    const busy = await insertKeys(store, count, sharedAccount);
    await writeHistory(store, [busy.key], requests, (index) => ({
      labels: { user: `user ${index % count}`, session: `session ${index % count}` },
      model: `model ${index % count}`,
    }));
    return { busy, sharedAccount };
  } finally {
    await store.close();
    fillTables(dir, count);
  }
}

async function insertAccounts(store: Store, count: number): Promise<string> {
  const terms = {
    mode: "credit",
    isPostpaid: false,
    closedAtMs: null,
    budgetTokens: null,
    period: "none",
  } as const;
  const [first] = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const account: AccountRecord = {
        ...terms,
        id: newId("acc_"),
        label: `account ${index}`,
        createdAtMs: systemClock.wallMs(),
        caps: [],
        keyCaps: [],
        content: null,
        tags: null,
        tpmLimits: null,
      };
      await store.insertAccount(account, 1_000 * nanoPerCredit);
      return account.id;
    }),
  );
  if (first === undefined) throw new Error("a crowd has accounts");
  return first;
}

async function insertKeys(store: Store, count: number, sharedAccount: string): Promise<IssuedKey> {
  const [busy] = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      issueKey(store, systemClock, {
        mode: "credit",
        label: `key ${index}`,
        owner: crowdOwner,
        expiresAtMs: systemClock.wallMs() + 6 * msPerDay,
        ...(index % 10 === 1 ? { accountId: sharedAccount } : { creditNano: 1_000 * nanoPerCredit }),
      }),
    ),
  );
  if (busy === undefined) throw new Error("a crowd has keys");
  return busy;
}

/** What a gateway writes one by one is written at once here: a history of hours is wanted in seconds. */
function fillTables(dir: string, count: number): void {
  using database = new Database(join(dir, "sluice.db"));
  const keyNo = "(SELECT no FROM keys WHERE label = 'key 0')";
  const numbers = `WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})`;
  const nowMs = Date.now();
  database.run(`INSERT INTO audit_log (at_ms, actor, address, action, target, detail)
    ${numbers} SELECT ${nowMs} - i, 'person ' || i, '127.0.0.1', 'key.update', 'slu_' || i, 'label: a to b' FROM numbers`);
  database.run(`INSERT INTO turns (key_no, id, parent_id, model, provider, created_at_ms, expires_at_ms, bytes, recording_id, parts, body, items)
    ${numbers} SELECT ${keyNo}, 'conv_' || i, NULL, 'm', 'p', ${nowMs} - i, ${nowMs} + 86400000, 2, NULL, 0, x'5b5d', '[]' FROM numbers`);
  database.run("INSERT INTO turn_sums SELECT key_no, sum(bytes) FROM turns GROUP BY key_no");
}
