import { type ErrorCode, type ErrorDetails, GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage.ts";
import { readErrorObject } from "./refusal.ts";
import { vendorErrorOf } from "./vendor-error.ts";

/** By the vendors' words, by an HTTP status in place of a code, or by MiniMax's numbers. */
const busy = /overloaded|rate_limit|slow_down|too_many_requests|unavailable|\b(?:429|503|529|1002|1041)\b/i;
/** Errors about the operator's account with the provider. Their details are not shown to clients. */
const account =
  /authentication|permission|billing|quota|api_key|forbidden|not_found|\b(?:40[1-4]|1004|1008|2049)\b/i;
const client = /invalid_request|invalid_prompt|\b(?:400|413|422|1026|2013)\b/;

/**
 * An error that a provider reported instead of an answer: in a stream, or as the body of a 200. Keeps the provider's
 * message where it may help the client.
 */
export function reportedFailure(body: JsonObject): GatewayError {
  const refusal = readErrorObject(body);
  const kind = `${refusal.type ?? ""} ${refusal.code ?? ""}`;
  // First, because "too many tokens" may also be said of those in a minute.
  if (busy.test(kind)) {
    return new GatewayError("service_unavailable", "The provider is busy; try again.", { cause: refusal });
  }
  if (refusal.contextOverflow) {
    return new GatewayError("context_length_exceeded", refusal.message, vendorErrorOf(refusal));
  }
  if (account.test(kind)) {
    return new GatewayError("upstream_error", "The provider refused the request.", { cause: refusal });
  }
  if (client.test(kind)) {
    return new GatewayError("invalid_request", refusal.message, vendorErrorOf(refusal));
  }
  return new GatewayError("upstream_error", refusal.message);
}

/** The provider's answer violates its dialect. */
export function malformedAnswer(what: string): GatewayError {
  return new GatewayError("upstream_error", `The provider's answer makes no sense: ${what}.`);
}

/** The provider's stream ended early. */
export function cutShort(): GatewayError {
  return new GatewayError("upstream_error", "The provider's stream ended before the answer was complete.");
}

/** The provider has ended its answer by saying that it failed, and bills what it reports. */
export class FailedAnswer extends GatewayError {
  readonly usage: ReportedUsage | null;

  constructor(
    message: string,
    usage: ReportedUsage | null,
    code: ErrorCode = "upstream_error",
    details: ErrorDetails = {},
  ) {
    super(code, message, details);
    this.usage = usage;
  }

  /** Adds the usage to a failure that the provider has explained. */
  static of(failure: GatewayError, usage: ReportedUsage | null): FailedAnswer {
    return new FailedAnswer(failure.message, usage, failure.code, failure);
  }
}

/** The provider says that its answer failed, and no more. */
export function failedAnswer(usage: ReportedUsage | null): FailedAnswer {
  return new FailedAnswer("The provider says that its answer failed.", usage);
}
