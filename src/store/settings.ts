import type { Clock } from "../base/clock.ts";
import type { Driver } from "./journal/driver-choice.ts";

export interface StoreSettings {
  /** The data folder. */
  readonly dir: string;
  readonly clock: Clock;
  /**
   * `gateway` charges, and there is only one of them per folder; `operator` reads, and changes keys and balances
   * while a gateway may be running.
   */
  readonly role: "gateway" | "operator";
  /** Which thread writes batches. By default that depends on how fast the disk is. */
  readonly journal?: Driver | "adaptive";
  /** Called for each file that other users could read until now. */
  readonly onClosedToOthers?: (file: string) => void;
}
