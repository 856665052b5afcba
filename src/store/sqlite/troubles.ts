import type { Trouble } from "../health.ts";
import type { FailureReason } from "../journal/batch-writer.ts";
import type { Troubles } from "../journal/journal.ts";
import { isBusy, isCorrupt, isOutOfSpace } from "./connection.ts";

/** What a SQLite result code means for the journal. */
export function failureReason(code: string): FailureReason {
  if (isCorrupt(code)) return "damaged";
  if (isOutOfSpace(code)) return "full";
  if (isBusy(code) || code.startsWith("SQLITE_NOMEM")) return "busy";
  return "rejected";
}

/** The next process recovers the log, and compares it with what was acknowledged. */
export const failedSyncTrouble: Trouble = {
  reason: "The disk failed to sync the ledger.",
  advice:
    "The gateway ends, because nothing since the last good sync can be trusted. The next start recovers the ledger and checks " +
    "that nothing acknowledged is missing. See what the system says about the disk (`dmesg`).",
  endsProcess: true,
};

export const sqliteTroubles: Troubles = {
  damaged: {
    reason: "The database is damaged.",
    advice:
      "Nothing can be written until the next start. Stop the gateway: it then says which charges are missing. " +
      "Run `sluice ledger audit`, and `sluice restore FILE` if the database is damaged.",
  },
  full: {
    reason: "The disk is full, or nearly.",
    advice:
      "No new work is taken; what runs is charged from the reserve. Make room: it then goes on by itself.",
  },
  busy: {
    reason: "The database is locked by another program.",
    advice:
      "Charges wait, and no new work is taken. `fuser -v sluice.db` in the data folder names the program; when it lets go, " +
      "the gateway goes on by itself.",
  },
};
