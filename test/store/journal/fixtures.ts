import { newStats } from "../../../src/store/health.ts";
import type { BatchWriter } from "../../../src/store/journal/batch-writer.ts";
import { Journal, type JournalOptions, type StoreProblems } from "../../../src/store/journal/journal.ts";

const problems: StoreProblems = {
  damaged: { reason: "The database is damaged.", advice: "Restore it." },
  full: { reason: "The disk is full.", advice: "Make room." },
  busy: { reason: "The database is locked by another program.", advice: "Wait." },
};

/** Without a reserve, and with problems of no database, unless told otherwise. */
export function newJournal(writer: BatchWriter, overrides: Partial<JournalOptions> = {}): Journal {
  return new Journal({ writer, stats: newStats(), reserve: null, problems, ...overrides });
}
