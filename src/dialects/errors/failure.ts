import { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { hasTokens, noCalls, type ReportedExtras, type ReportedUsage } from "../../base/usage/usage.ts";
import { maxParsedValues } from "../json/json-bytes.ts";
import { type ReportedSoFar, runningTotal, type UsageReader } from "../usage/reported-usage.ts";
import { isUnpaid } from "./account-error.ts";
import { readErrorObject } from "./error-body.ts";
import { vendorErrorOf } from "./vendor-error.ts";

/** By the vendors' codes, by an HTTP status in place of a code, or by MiniMax's numbers. */
const busy = /overloaded|rate_limit|slow_down|too_many_requests|unavailable|\b(?:429|503|529|1002|1041)\b/i;
/** Errors about the operator's account with the provider. Their details are not shown to clients. */
const account =
  /authentication|permission|billing|quota|api_key|forbidden|not_found|\b(?:40[1-4]|1004|1008|2049)\b/i;
const client = /invalid_request|invalid_prompt|\b(?:400|413|422|1026|2013)\b/;

/**
 * An error that a provider reported instead of a response: in a stream, or as the body of a 200. Keeps the provider's
 * message if it may help the client, and the usage that the provider reports.
 */
export function reportedFailure(body: JsonObject, usageReader: UsageReader): GatewayError {
  return failedResponse(explainFailure(body), usageReader.usageIn(body), usageReader.readExtras(body));
}

function explainFailure(body: JsonObject): GatewayError {
  const error = readErrorObject(body);
  const kind = `${error.type ?? ""} ${error.code ?? ""}`;
  // First, because "too many tokens" may also mean those per minute.
  if (busy.test(kind)) {
    return new GatewayError(
      "service_unavailable",
      "The provider is overloaded or rate limiting the gateway. Retry later.",
      { cause: error },
    );
  }
  if (error.contextOverflow) {
    return new GatewayError("context_length_exceeded", error.message, vendorErrorOf(error));
  }
  if (account.test(kind) || isUnpaid(error)) {
    return new GatewayError(
      "upstream_error",
      "The provider rejected the gateway, not your request. Contact the operator and quote the request id.",
      { cause: error },
    );
  }
  if (client.test(kind)) {
    return new GatewayError("invalid_request", error.message, vendorErrorOf(error));
  }
  return new GatewayError("upstream_error", error.message);
}

/** The provider's response violates its dialect. */
export function malformedResponse(what: string): GatewayError {
  return new GatewayError("upstream_error", `The provider sent an invalid response: ${what}.`);
}

/** An event of a stream that would take long to parse. */
export function eventTooLarge(): GatewayError {
  return malformedResponse(`an event with more than ${maxParsedValues} values`);
}

/** The provider's stream ended early. */
export function cutShort(): GatewayError {
  return new GatewayError("upstream_error", "The provider's stream ended before the response was complete.");
}

/**
 * The provider reports a failed response, or rejects the request, together with its usage. The usage is charged once,
 * before the client sees the failure, for every kind of response. If it is more than zero, there is no retry, because
 * the client would pay twice.
 */
export class FailedResponse extends GatewayError {
  /** Null if the provider reports only extras, and no tokens. */
  readonly usage: ReportedUsage | null;
  /** Usage in addition to tokens, in the response or in the event that reports the failure. */
  readonly extras: ReportedExtras;

  constructor(failure: GatewayError, usage: ReportedUsage | null, extras: ReportedExtras) {
    super(failure.code, failure.message, failure);
    this.usage = usage;
    this.extras = extras;
  }
}

/** The failure with its reported usage; the failure itself if it reports none. */
export function failedResponse(
  failure: GatewayError,
  usage: ReportedUsage | null,
  extras: ReportedExtras,
): GatewayError {
  const failed = new FailedResponse(failure, usage, extras);
  return isBilled(failed) ? failed : failure;
}

/**
 * The failure that ends a stream, with figures that are running totals. It may report no output although there was content, which is
 * then counted: a server that breaks off often has no figure yet.
 */
export function failedAfter<Failure>(
  before: ReportedSoFar & { readonly started: boolean },
  failure: Failure,
): Failure | FailedResponse {
  if (!(failure instanceof FailedResponse) || failure.usage === null) return failure;
  const usage = runningTotal(before, failure.usage);
  const isOutputMissing = before.started && usage.outputTokens === 0;
  return new FailedResponse(
    failure,
    isOutputMissing ? { ...usage, isOutputDoubtful: true } : usage,
    failure.extras,
  );
}

/** Whether the failure reports any usage. */
export function isBilled(failure: unknown): failure is FailedResponse {
  if (!(failure instanceof FailedResponse)) return false;
  return hasTokens(failure.usage) || hasCalls(failure.extras);
}

/** Tools that the provider runs are billed by the call, even if the response fails. */
function hasCalls({ calls = noCalls }: ReportedExtras): boolean {
  return Object.values(calls).some((count) => count > 0);
}

/** The provider reports a failed response without details. */
export function unexplainedFailure(): GatewayError {
  return new GatewayError("upstream_error", "The provider reported a failed response.");
}
