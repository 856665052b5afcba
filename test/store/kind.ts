import type { Clock } from "../../src/base/clock.ts";
import type { BatchWriter } from "../../src/store/journal/batch-writer.ts";
import type { Store } from "../../src/store/store.ts";

/** Lets a test stand between the journal and the database. */
export type WrapWriter = (writer: BatchWriter) => BatchWriter;

/** A database of a test's own, empty at first, that stores can be opened on one after the other. */
export interface TestDatabase extends AsyncDisposable {
  /** A gateway's store. It need not be closed before the next one is opened, as after a crash. */
  openGateway(clock: Clock, wrapWriter?: WrapWriter): Promise<Store>;
  /** An operator's store, which may be open beside a gateway's. */
  openOperator(clock: Clock): Promise<Store>;
}

/** A kind of store that the contract is tested on. */
export interface StoreKind {
  readonly name: string;
  /** With `isVolatile`, commits need not survive a power cut, which makes them faster. */
  create(options?: { readonly isVolatile: boolean }): Promise<TestDatabase>;
}
