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

/** Why an operation was rejected, and the status that says so. */
export const operationStatuses = {
  unknown_key: 404,
  unknown_account: 404,
  unknown_token: 404,
  unknown_code: 404,
  unknown_sign_in: 404,
  unknown_cap: 404,
  ambiguous_key: 409,
  invalid_input: 400,
  not_allowed: 403,
  wrong_status: 409,
  not_found: 404,
  gateway_busy: 409,
  no_gateway: 409,
} as const;

/** An operation was rejected and nothing has changed. The message says what to do instead. */
export class OperationError extends Error {
  override readonly name = "OperationRefusal";
  readonly reason: keyof typeof operationStatuses;

  constructor(reason: keyof typeof operationStatuses, message: string) {
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
