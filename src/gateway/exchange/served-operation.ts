import type { ErrorCode } from "../../base/errors.ts";
import type { RouteSwitch } from "../../base/requests/route-switches.ts";
import { plainErrors } from "../../dialects/registry.ts";
import type { Operation, Route } from "./client-call.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";

/** An operation, and what does it. */
export interface ServedOperation extends Operation {
  run(gateway: Gateway, exchange: Exchange): Promise<Response>;
}

/** `otherFormat`: how it is served to clients that show that they expect another format. */
export type ServedRoute = Route & ServedOperation & { readonly otherFormat?: Route & ServedOperation };

/** The facts of a free operation. */
export const freeOfCharge = { dialect: null, isCharged: false, tracedAs: null } as const;

export const rateHeaders = [
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
] as const;

export const balanceHeaders = ["x-service-credit-remaining", "x-ratelimit-remaining-tokens"] as const;

/** Headers of an operation that is charged, and can be retried with an idempotency key. */
export const chargedHeaders = [
  ...rateHeaders,
  "idempotent-replayed",
  "Cache-Control",
  "x-sluice-dropped",
  "x-sluice-cost",
  ...balanceHeaders,
] as const;

/** An operation that creates an object: once for each `Idempotency-Key`. */
export function retriable(operation: ServedOperation): ServedOperation {
  const { codes, headers, description } = operation;
  return {
    ...operation,
    codes: [...codes, "idempotency_conflict", "idempotency_in_flight"],
    headers: [...headers, "idempotent-replayed"],
    description: { ...description, headers: ["Idempotency-Key", ...(description.headers ?? [])] },
  };
}

/** Errors of an operation that only reads. The interface lists no 403 there. */
export const readingCodes = [
  "invalid_credentials",
  "rate_limit_exceeded",
  "service_unavailable",
  "internal_error",
] as const satisfies readonly ErrorCode[];

/** … that takes a body, in which a model is named. */
export const askingCodes = [
  ...readingCodes,
  "invalid_request",
  "key_expired",
  "key_disabled",
  "model_not_found",
] as const satisfies readonly ErrorCode[];

/** Error codes of operations that also call a provider, and are charged. */
export const chargedCodes = [
  ...askingCodes,
  "context_length_exceeded",
  "insufficient_credit",
  "idempotency_conflict",
  "idempotency_in_flight",
  "balance_temporarily_reserved",
  "limit_reached",
  "provider_unavailable",
  "upstream_error",
] as const satisfies readonly ErrorCode[];

/** Returns a factory for operations on objects that the gateway stores for a key. `codes`: errors that only these have. */
export function keptOperations(switchedBy: RouteSwitch, ...codes: readonly ErrorCode[]) {
  return (
    method: Operation["method"],
    path: string,
    run: ServedOperation["run"],
    description: Operation["description"],
  ): ServedOperation => ({
    errors: plainErrors,
    keyHeader: null,
    ...freeOfCharge,
    needsKey: true,
    switchedBy,
    codes: [...readingCodes, "key_expired", "key_disabled", "invalid_request", "not_found", ...codes],
    headers: rateHeaders,
    method,
    path,
    run,
    description,
  });
}
