import { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import { CredentialUnavailable } from "../../vendors/credentials/credential.ts";
import { isMalformed, type Transfer } from "../../wire/transfer.ts";
import {
  cancelled,
  connectionClosed,
  errorIn200,
  errorStatus,
  type Failure,
  failedResponseFailure,
  incompleteResponse,
  invalidResponse,
  malformedHttp,
  timedOut,
  timeoutError,
  unreachable,
  withoutCredential,
} from "../failure.ts";
import type { Deployment, Plan } from "../upstream.ts";
import type { CallDeadlines } from "./call-deadlines.ts";
import type { CallState } from "./call-state.ts";
import { openingUsage } from "./inspect.ts";

/** Why a call failed before its response was returned: a deadline, the client, or the provider. */
export function failureBeforeResponse(
  cause: unknown,
  plan: Plan,
  state: CallState,
  { missed }: CallDeadlines,
  transfer: Transfer | null,
): Failure {
  if (missed === "answer") return timedOut(plan.clientDialect);
  if (plan.isOver) return { ...cancelled(plan.signal), wasSent: transfer?.isSent === true };
  if (missed === "connection") return unreachable(cause);
  if (cause instanceof CredentialUnavailable) return withoutCredential(cause);
  if (isMalformed(cause)) return malformedHttp(cause);
  if (state !== "awaits_head") return incompleteResponse(cause);
  // Without a connection it is certain that nothing was sent.
  return transfer?.isConnected === true ? connectionClosed(cause) : unreachable(cause);
}

/** The failure for any other status than 200. */
export function failureOfStatus(
  answer: Parameters<Deployment["provider"]["readProviderError"]>[0],
  { provider, upstreamModel }: Deployment,
  { clientDialect, model }: Plan,
  upstreamDialect: ProviderDialectName,
): Failure {
  const said = provider.readProviderError(answer);
  const told = { ...said, message: withClientsName(said.message, upstreamModel, model.id) };
  const failure = errorStatus(answer.head.status, told, clientDialect, upstreamDialect, answer.text);
  return failure.providerMessage === null ? failure : { ...failure, providerMessage: said.message };
}

/** Ollama's messages have the whole name of a model. */
const registry = "(?:registry\\.ollama\\.ai/(?:library/)?)?";

/** The provider's message, with the client's name of the model in place of the upstream's, which only the operator knows. */
function withClientsName(message: string, upstream: string, name: string): string {
  if (upstream === name || !message.includes(upstream)) return message;
  const whole = `(?<![\\w./:-])${registry}${RegExp.escape(upstream)}(?![\\w/-]|[.:]\\w)`;
  return message.replaceAll(new RegExp(whole, "g"), () => name);
}

/**
 * The failure for a response of status 200 that was rejected on inspection; for a stream, with the usage that its
 * opening events reported.
 */
export function failureIn200(
  problem: "empty" | "broken" | JsonObject | GatewayError,
  upstreamDialect: ProviderDialectName,
  stream: readonly Uint8Array[] = [],
): Failure {
  return {
    ...failureFor(problem, upstreamDialect),
    reported: openingUsage(stream, providerDialect(upstreamDialect)),
  };
}

function failureFor(
  problem: "empty" | "broken" | JsonObject | GatewayError,
  upstreamDialect: ProviderDialectName,
): Failure {
  if (problem instanceof GatewayError) return failedResponseFailure(problem);
  if (problem === "empty") return invalidResponse("its stream is empty");
  return problem === "broken"
    ? invalidResponse("it is not a JSON object")
    : errorIn200(problem, upstreamDialect);
}

/** The failure of a stream that was already handed over to its reader. */
export function streamError(cause: unknown, plan: Plan, { missed }: CallDeadlines): GatewayError {
  if (missed !== null) return timeoutError(plan.clientDialect);
  if (plan.isOver) return cancelled(plan.signal).error;
  return incompleteResponse(cause).error;
}
