import { newId } from "../../src/base/id.ts";
import type { Hold, HoldRequest, Settlement } from "../../src/ledger/accounts.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import type { JournaledStore, KeyRecord, Store, UsageRecord } from "../../src/store/store.ts";
import { StoreWatcher } from "../../src/store/watcher.ts";
import { keyRecord, usageRecord } from "../store/fixtures.ts";
import type { JournaledDatabase, WrapWriter } from "../store/kind.ts";
import { FakeClock } from "../support/clock.ts";
import { costing } from "../support/rates.ts";

/** What runs in one process: it can be started again on the same database, as after a crash. */
export interface Process {
  readonly store: JournaledStore;
  readonly ledger: Ledger;
  readonly watcher: StoreWatcher;
}

export async function startProcess(
  database: JournaledDatabase,
  clock: FakeClock,
  wrapWriter?: WrapWriter,
): Promise<Process> {
  const store = await database.openGateway(clock, wrapWriter);
  const snapshot = await store.load();
  const ledger = await Ledger.open({ store, clock, snapshot });
  const watcher = new StoreWatcher({
    everyMs: null,
    store,
    revision: snapshot.revision,
    apply: (changes) => ledger.apply(changes),
    onError: (error) => {
      throw error;
    },
  });
  return { store, ledger, watcher };
}

/** A ledger over a real store, and an operator with a second connection, as the command line has. */
export interface Bench extends AsyncDisposable, Process {
  readonly clock: FakeClock;
  readonly operator: Store;
  addKey(overrides: Partial<KeyRecord>, creditNano?: number): Promise<KeyRecord>;
}

export async function openBench(database: JournaledDatabase, wrapWriter?: WrapWriter): Promise<Bench> {
  const clock = new FakeClock();
  const running = await startProcess(database, clock, wrapWriter);
  const operator = await database.openOperator(clock);
  return {
    ...running,
    clock,
    operator,
    async addKey(overrides, creditNano = 0) {
      const key = keyRecord(overrides);
      await operator.insertKey(key, creditNano);
      await running.watcher.refresh();
      return key;
    },
    async [Symbol.asyncDispose]() {
      await running.store.close();
      await operator.close();
    },
  };
}

export function holdFor<Answer extends Hold | Promise<Hold>>(
  accounts: { hold(request: HoldRequest): Answer },
  key: KeyRecord,
  amount: number,
): Answer {
  return accounts.hold({
    keyId: key.id,
    exchangeId: newId("req_"),
    model: "house-model",
    requestedModel: null,
    labels: null,
    amount,
  });
}

/** A finished call of that cost, with a usage record unless told otherwise. */
export function settlement(
  hold: Hold,
  cost: number,
  overrides: Partial<Settlement> = {},
  record: Partial<UsageRecord> = {},
): Settlement {
  return {
    ...costing(cost),
    basis: "measured",
    outcome: "completed",
    provider: "openai",
    outcomeRecord: null,
    record: usageRecord(hold.keyId, { exchangeId: hold.id, model: hold.model, costNano: cost, ...record }),
    response: null,
    ...overrides,
  };
}
