import type { RequestOutcome } from "./records.ts";

/** The tables, views and indexes of both databases call a rejected request `refused`. */
export function storedOutcome(outcome: RequestOutcome): string {
  return outcome === "rejected" ? "refused" : outcome;
}

export function outcomeFromStore(stored: RequestOutcome | "refused"): RequestOutcome {
  return stored === "refused" ? "rejected" : stored;
}
