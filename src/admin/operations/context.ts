import type { Clock } from "../../base/clock.ts";
import type { Store } from "../../store/store.ts";

/**
 * What an operation works with. Operations are plain functions over the store, so that the command line and the
 * admin API behave alike, whether or not a gateway is running.
 */
export interface OperationContext {
  readonly store: Store;
  readonly clock: Clock;
}
