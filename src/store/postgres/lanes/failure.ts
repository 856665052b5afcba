import { sqlStateOf } from "../errors.ts";

/**
 * Why a batch failed, by the possible reaction:
 *
 * - `fenced`: this node was declared dead and its holds were taken over. It has to join again.
 * - `rejected`: the database, or the rules of money, reject an item of the batch, and always will. The batch was rolled back.
 * - `blocked`: another session holds a lock that an item of the batch needs. The batch was rolled back.
 * - `unreachable`: everything else, such as a closed connection, a restart, a deadlock, a full disk, or tables that are
 *   not found because the role's rights or search_path were changed. It may be unknown whether the batch was committed;
 *   it is sent again under the same number.
 */
export type LaneFailure = "fenced" | "rejected" | "blocked" | "unreachable";

/** No decision was possible. */
export class RejectedBatch extends Error {
  override readonly name = "RejectedBatch";
}

/** Raised by this schema's functions for a node that was taken over. */
const fencedState = "SL001";

/** The lock was not released within the time that the batch waits for it. */
const blockedState = "55P03";

/** Data exception, violated constraint, or raised by a function: a retry cannot help. */
const rejectedState = /^(?:22|23|P0)/;

export function failureOf(error: unknown): LaneFailure {
  if (error instanceof RejectedBatch) return "rejected";
  const state = sqlStateOf(error);
  if (state === fencedState) return "fenced";
  if (state === blockedState) return "blocked";
  return rejectedState.test(state) ? "rejected" : "unreachable";
}
