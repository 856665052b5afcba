import type { Clock } from "../../base/clock.ts";
import { type Restored, restoreDatabase } from "../../store/sqlite/restore.ts";

/**
 * Puts a backup in the place of the data. It works on the folder, not on an open store: the gateway must be
 * stopped, because balances are decided in its memory. What is replaced is kept aside.
 */
export function restore(dir: string, file: string, clock: Clock): Restored {
  return restoreDatabase({ dir, from: file, nowMs: clock.wallMs() });
}
