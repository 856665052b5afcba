import type { Clock } from "../base/clock.ts";
import { withEllipsis } from "../base/text/ellipsis.ts";
import type { Store } from "../store/store.ts";

/**
 * The context of an operation. Operations are plain functions over the store, so that the command line and the admin
 * API behave alike, whether or not a gateway is running.
 */
export interface OperationContext {
  readonly store: Store;
  readonly clock: Clock;
}

/** An operation was rejected and nothing has changed. The message says what to do instead. */
export class OperationError extends Error {
  override readonly name = "OperationRefusal";
  readonly reason: OperationErrorReason;

  constructor(reason: OperationErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

export function invalidInput(message: string): OperationError {
  return new OperationError("invalid_input", message);
}

const maxShownLength = 100;

/** A name that nothing has, for its error: what was pasted by mistake can be very long. */
export function shownName(name: string): string {
  return withEllipsis(name, maxShownLength);
}

type OperationErrorReason =
  | "unknown_key"
  | "ambiguous_key"
  | "unknown_account"
  | "unknown_cap"
  | "unknown_token"
  | "unknown_code"
  | "unknown_sign_in"
  | "invalid_input"
  | "not_allowed"
  | "wrong_status"
  | "not_found"
  | "gateway_busy"
  | "no_gateway";
