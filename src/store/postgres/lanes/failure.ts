import { sqlStateOf } from "../errors.ts";

/**
 * Why a batch was not answered, by what can be done about it:
 *
 * - `fenced`: this node was declared dead and its holds were taken over. It has to join anew.
 * - `rejected`: the database refuses an item of the batch, and always will. The batch was rolled back.
 * - `unreachable`: everything else, such as a closed connection, a restart, a deadlock or a full disk. Whether the batch
 *   was committed may be unknown; the same batch is sent again under the same number.
 */
export type LaneFailure = "fenced" | "rejected" | "unreachable";

/** Raised by the functions of this schema for a node that was taken over. */
const fencedState = "SL001";

/** Data exception, violated constraint, syntax error or access rule, or raised by a function: the same again cannot help. */
const rejectedState = /^(?:22|23|42|P0)/;

export function failureOf(error: unknown): LaneFailure {
  const state = sqlStateOf(error);
  if (state === fencedState) return "fenced";
  return rejectedState.test(state) ? "rejected" : "unreachable";
}
