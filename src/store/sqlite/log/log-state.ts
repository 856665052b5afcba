import type { Database } from "bun:sqlite";
import type { LogState } from "./checkpoint-messages.ts";

interface CheckpointRow {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * `NOOP` only reads the state (3 µs). `PASSIVE` copies what no reader needs, without waiting. `TRUNCATE` needs
 * exclusive use of the log.
 */
type Mode = "NOOP" | "PASSIVE" | "TRUNCATE";

/** Copies the log into the database as far as the mode allows, and returns the progress. */
export function checkpoint(database: Database, mode: Mode): LogState & { readonly isBusy: boolean } {
  const row = database.query<CheckpointRow, []>(`PRAGMA wal_checkpoint(${mode})`).get();
  return { frames: row?.log ?? 0, copied: row?.checkpointed ?? 0, isBusy: row?.busy === 1 };
}
