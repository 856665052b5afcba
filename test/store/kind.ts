import type { Clock } from "../../src/base/clock.ts";
import type { BatchWriter } from "../../src/store/journal/batch-writer.ts";
import type { StoreLocation } from "../../src/store/settings.ts";
import type { JournaledStore, Store } from "../../src/store/store.ts";
import type { SettleItem } from "./fixtures.ts";

/** A gateway's store, whether the gateway or the database decides charges. */
export interface GatewayStore extends Store {
  /** Writes the given charges in one transaction, as if the accounts had decided them. */
  charge(items: readonly SettleItem[]): Promise<void>;
}

/** A database of a test's own, empty at first, that stores can be opened on one after the other. */
export interface TestDatabase extends AsyncDisposable {
  /** It need not be closed before the next one is opened, as after a crash. */
  openGateway(clock: Clock): Promise<GatewayStore>;
  /** An operator's store, which may be open at the same time as a gateway's. */
  openOperator(clock: Clock): Promise<Store>;
  readonly location: StoreLocation;
}

/** A kind of store that the contract is tested on. */
export interface StoreKind<Database extends TestDatabase = TestDatabase> {
  readonly name: string;
  /** With `isVolatile`, commits need not survive a power cut, which makes them faster. */
  create(options?: { readonly isVolatile: boolean }): Promise<Database>;
}

/** Lets a test stand between the journal and the database. */
export type WrapWriter = (writer: BatchWriter) => BatchWriter;

/** One that the ledger in memory commits to. */
export interface JournaledDatabase extends TestDatabase {
  openGateway(clock: Clock, wrapWriter?: WrapWriter): Promise<GatewayStore & JournaledStore>;
}
