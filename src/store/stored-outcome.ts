import type { Ending } from "./records.ts";

/** The tables, views and indexes of both databases call a rejected request `refused`. */
export function storedOutcome(outcome: Ending): string {
  return outcome === "rejected" ? "refused" : outcome;
}

export function outcomeFromStore(stored: Ending | "refused"): Ending {
  return stored === "refused" ? "rejected" : stored;
}
