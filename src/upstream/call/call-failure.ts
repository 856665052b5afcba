import { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import { CredentialUnavailable } from "../../vendors/credentials/credential.ts";
import { isMalformed, type Transfer } from "../../wire/transfer.ts";
import {
  brokenOff,
  cancelled,
  errorStatus,
  errorWithin,
  type Failure,
  failedAtOnce,
  hungUp,
  malformed,
  timeoutError,
  tooSlow,
  unreachable,
  unusable,
  withoutCredential,
} from "../failure.ts";
import type { Deployment, Plan } from "../upstream.ts";
import type { CallDeadlines } from "./call-deadlines.ts";
import type { CallState } from "./call-state.ts";
import { openingUsage } from "./stream-start.ts";

/** Why a call failed before its answer was handed over: a deadline, the client, or the provider. */
export function failureBeforeAnswer(
  cause: unknown,
  plan: Plan,
  state: CallState,
  { missed }: CallDeadlines,
  transfer: Transfer | null,
): Failure {
  if (missed === "answer") return tooSlow(plan.clientDialect);
  if (plan.isOver) return { ...cancelled(plan.signal), wasSent: transfer?.isConnected === true };
  if (missed === "connection") return unreachable(cause);
  if (cause instanceof CredentialUnavailable) return withoutCredential(cause);
  if (isMalformed(cause)) return malformed(cause);
  if (state !== "awaits_head") return brokenOff(cause);
  // Without a connection it is certain that nothing was sent.
  return transfer?.isConnected === true ? hungUp(cause) : unreachable(cause);
}

/** The failure for any other status than 200. */
export function failureOfStatus(
  answer: Parameters<Deployment["provider"]["readProviderError"]>[0],
  { provider }: Deployment,
  { clientDialect }: Plan,
  spoken: ProviderDialectName,
): Failure {
  return errorStatus(
    answer.head.status,
    provider.readProviderError(answer),
    clientDialect,
    spoken,
    answer.text,
  );
}

/** The failure for an answer of status 200 that was rejected on inspection; of a stream, with what its opening events reported as used. */
export function failureWithin(
  found: "empty" | "broken" | JsonObject | GatewayError,
  spoken: ProviderDialectName,
  stream: readonly Uint8Array[] = [],
): Failure {
  return { ...failureFound(found, spoken), reported: openingUsage(stream, providerDialect(spoken)) };
}

function failureFound(
  found: "empty" | "broken" | JsonObject | GatewayError,
  spoken: ProviderDialectName,
): Failure {
  if (found instanceof GatewayError) return failedAtOnce(found);
  if (found === "empty") return unusable("its stream ends before it begins");
  return found === "broken" ? unusable("it is not a JSON object") : errorWithin(found, spoken);
}

/** The failure of a stream that was already handed over to its reader. */
export function errorWithinStream(cause: unknown, plan: Plan, { missed }: CallDeadlines): GatewayError {
  if (missed !== null) return timeoutError(plan.clientDialect);
  if (plan.isOver) return cancelled(plan.signal).error;
  return brokenOff(cause).error;
}
