import { systemClock } from "../../src/base/clock.ts";
import type { Accounts } from "../../src/ledger/accounts.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import { SharedAccounts } from "../../src/ledger/shared-accounts.ts";
import { moneyRules } from "../../src/ledger/shared-batch.ts";
import { joinStore, openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";

export interface RealAccounts {
  readonly store: Store;
  readonly accounts: Accounts & { journalProgress(): void };
  close(): Promise<void>;
}

/** As a gateway has them, by the real clock. `where` is `folder`, or a database's address. */
export async function openAccounts(dir: string, where: string): Promise<RealAccounts> {
  const clock = systemClock;
  if (where === "folder") {
    const store = await openStore({ dir, clock, role: "gateway" });
    const accounts = await Ledger.open({ store, clock, snapshot: await store.load() });
    return { store, accounts, close: () => store.close() };
  }
  const location = { url: where, password: null, prepare: true };
  const store = await openStore({ location, clock, role: "gateway" });
  const node = await joinStore({
    location,
    name: "killed",
    version: "1.0.0",
    dir,
    rules: moneyRules,
    report: () => {},
  });
  const { keys, valueCaps } = await store.load();
  return {
    store,
    accounts: new SharedAccounts({ node, clock, keys, valueCaps }),
    close: async () => {
      await node.leave();
      await store.close();
    },
  };
}
