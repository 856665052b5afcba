import type { StoreProblem } from "../health.ts";
import type { FailureReason } from "../journal/batch-writer.ts";
import type { StoreProblems } from "../journal/journal.ts";
import { isBusy, isCorrupt, isOutOfSpace } from "./connection.ts";

/** The journal's reason for a SQLite result code. */
export function failureReason(code: string): FailureReason {
  if (isCorrupt(code)) return "damaged";
  if (isOutOfSpace(code)) return "full";
  if (isBusy(code) || code.startsWith("SQLITE_NOMEM")) return "busy";
  return "rejected";
}

/** The next process recovers the log, and compares it with what was acknowledged. */
export const failedSyncProblem: StoreProblem = {
  reason: "The disk failed to sync the ledger.",
  advice:
    "The gateway stops, because writes since the last successful sync may be lost. The next start recovers and checks the ledger. " +
    "Check the disk (`dmesg`).",
  endsProcess: true,
};

export const sqliteProblems: StoreProblems = {
  damaged: {
    reason: "The database is damaged.",
    advice:
      "Nothing can be written until the next start. Stop the gateway: it then lists the missing charges. " +
      "Run `sluice ledger audit`, and `sluice restore FILE` if the database is damaged.",
  },
  full: {
    reason: "The disk is full or nearly full.",
    advice:
      "New requests are rejected; charges in progress use the reserve file. Free some space; the gateway then recovers by itself.",
  },
  busy: {
    reason: "The database is locked by another program.",
    advice:
      "Charges wait, and new requests are rejected. `fuser -v sluice.db` in the data folder shows the program; once it releases " +
      "the database, the gateway recovers by itself.",
  },
};
