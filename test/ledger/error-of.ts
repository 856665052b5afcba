import { GatewayError } from "../../src/base/errors.ts";

/** The refusal that a call ends in; anything else fails the test. */
export function errorOf(call: () => unknown): GatewayError {
  try {
    call();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("was not refused");
}
