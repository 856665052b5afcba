import { Ledger } from "../../src/ledger/ledger.ts";
import type { Changes, JournaledStore } from "../../src/store/store.ts";
import { StoreWatcher } from "../../src/store/watcher.ts";
import type { JournaledDatabase } from "../store/kind.ts";
import type { FakeClock } from "../support/clock.ts";
import { FaultyWriter } from "./faulty-writer.ts";

/** One life of the gateway's process, from its start to its crash. */
export interface GatewayLife {
  readonly store: JournaledStore;
  readonly ledger: Ledger;
  readonly watcher: StoreWatcher;
  readonly writer: FaultyWriter;
}

export async function startGateway(
  database: JournaledDatabase,
  clock: FakeClock,
  onChanges: (changes: Changes) => void,
): Promise<GatewayLife> {
  let writer: FaultyWriter | null = null;
  const store = await database.openGateway(clock, (inner) => {
    writer = new FaultyWriter(inner);
    return writer;
  });
  if (writer === null) throw new Error("the store has a writer");
  const snapshot = await store.load();
  const ledger = await Ledger.open({ store, clock, snapshot, progressTickMs: 3_600_000 });
  const watcher = new StoreWatcher({
    everyMs: null,
    store,
    revision: snapshot.revision,
    onError: () => {},
    apply: (changes) => {
      ledger.apply(changes);
      onChanges(changes);
    },
  });
  return { store, ledger, watcher, writer };
}
