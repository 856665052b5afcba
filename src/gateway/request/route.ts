import type { ModelSettings } from "../../config/settings.ts";
import type { ClientDialectName } from "../../dialects/registry.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { narrowContent } from "../exchange/content.ts";
import { requestParameters } from "../exchange/traced-facts.ts";
import { rejectMisread } from "../references/foreign-fields.ts";
import { continuationOf } from "../references/provider-id-owners.ts";
import { labelExchange } from "./labels.ts";
import { type ClientRequest, rejectForbidden } from "./request.ts";
import { type ReadRequest, RoutedCall } from "./routed-call.ts";

/** Notes what log, traces and reports have of a request that was read. Returns the client's own name for the conversation. */
export function noteRequest(
  call: AdmittedCall,
  dialect: ClientDialectName,
  { truncated }: ClientRequest,
  isStreamed: boolean,
): string | null {
  const { exchange } = call;
  // Only now: the server should cut off a client that is slow to send its body, but not one that waits for a provider.
  exchange.call.keepWaiting();
  exchange.stream = isStreamed;
  if (exchange.trace !== null && exchange.trace.spanId !== null)
    exchange.parameters = requestParameters(truncated);
  return labelExchange(call, dialect, truncated);
}

/** Notes the model in the exchange. Throws if the key cannot use it. */
export function permitted({ exchange, key }: AdmittedCall, model: ModelSettings): ModelSettings {
  exchange.model = model;
  narrowContent(exchange, model);
  rejectForbidden(exchange.configured, key, model);
  return model;
}

/** The format that a request is in. */
interface RequestFormat {
  readonly dialect: ClientDialectName;
  /** Metered requests pass in formats of their own, whatever dialects their provider has. */
  readonly isMetered?: true;
}

/** Finds where the request may go: one that names stored resources goes to the provider that has them. */
export async function route(
  call: AdmittedCall,
  read: Pick<ReadRequest, "request" | "turn">,
  model: ModelSettings,
  { dialect, isMetered }: RequestFormat,
  session: string | null,
): Promise<RoutedCall> {
  const { configured, key } = call;
  const { mentions } = read.request;
  const continuing = { configured, key, model, dialect, isMetered, mentions };
  if (mentions.misread !== null) rejectMisread(continuing, mentions.misread);
  const continuation = await continuationOf(call.gateway.idOwners, continuing);
  return new RoutedCall(call, read, model, dialect, session, continuation);
}
