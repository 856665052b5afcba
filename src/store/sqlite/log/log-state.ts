import type { Database } from "bun:sqlite";
import type { LogState } from "./checkpoint-messages.ts";

interface CheckpointRow {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/** `NOOP` only looks (3 µs). `PASSIVE` copies what no reader needs and waits for nobody. `TRUNCATE` needs the log for itself. */
type Mode = "NOOP" | "PASSIVE" | "TRUNCATE";

/** Copies the log into the database as far as the mode does, and says how far it is. */
export function checkpoint(database: Database, mode: Mode): LogState & { readonly isBusy: boolean } {
  const row = database.query<CheckpointRow, []>(`PRAGMA wal_checkpoint(${mode})`).get();
  return { frames: row?.log ?? 0, copied: row?.checkpointed ?? 0, isBusy: row?.busy === 1 };
}
