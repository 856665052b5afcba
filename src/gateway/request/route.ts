import type { ModelSettings } from "../../config/settings.ts";
import type { ClientDialectName } from "../../dialects/registry.ts";
import { AdmittedCall } from "../exchange/admitted-call.ts";
import type { Replay } from "../exchange/claims.ts";
import { requestParameters } from "../exchange/traced-facts.ts";
import { rejectMisread } from "../references/foreign-fields.ts";
import { type Continuation, continuationOf } from "../references/provider-id-owners.ts";
import type { BackgroundRequest } from "../turns/backgrounds.ts";
import type { Compaction } from "../turns/compacting.ts";
import type { TurnInMaking } from "../turns/turn-body.ts";
import type { ClientRequest } from "./client-request.ts";
import { labelExchange } from "./labels.ts";

/** After reading: a valid request, and the plan for the conversation that it belongs to. */
export interface ReadRequest {
  readonly request: ClientRequest;
  readonly turn: TurnPlan;
  /** The stored response, if its idempotency key was claimed during reading, and was used before. */
  readonly replay: Replay | null;
}

/** The plan for a turn of a conversation. */
export interface TurnPlan {
  /** How the response is stored for a client that continues it; null if it is not. */
  readonly keeping: TurnInMaking | null;
  /** Set if the response is the summary of a conversation. */
  readonly compaction: Compaction | null;
  /** The provider itself compacts the conversation, in a separate request. */
  readonly isCompactedUpstream: boolean;
  /** Set if the response outlives its connection. */
  readonly background: BackgroundRequest | null;
}

export const noTurn: TurnPlan = {
  keeping: null,
  compaction: null,
  isCompactedUpstream: false,
  background: null,
};

/** After routing: the key can use the request's model, and the providers that can serve it are known. */
export class RoutedCall extends AdmittedCall {
  readonly request: ClientRequest;
  readonly turn: TurnPlan;
  readonly model: ModelSettings;
  /** The alias that the client named the model by; null if it was the model's id. */
  readonly requestedModel: string | null;
  /** The client's own name for the conversation; null if it has none. */
  readonly session: string | null;
  /** The client's dialect. Metered routes use chat's. */
  readonly dialect: ClientDialectName;
  /** The provider that must serve it, or the key's own scope. */
  readonly scope: string;
  /** The id of the only credential that may be used; null if any may. */
  readonly credential: string | null;
  /** Tokens of a conversation that the provider has stored, and bills as input. */
  readonly storedInput: number;

  constructor(
    { gateway, exchange, key }: AdmittedCall,
    { request, turn }: Pick<ReadRequest, "request" | "turn">,
    model: ModelSettings,
    dialect: ClientDialectName,
    session: string | null,
    continuation: Continuation | null,
  ) {
    super(gateway, exchange, key);
    this.request = request;
    this.turn = turn;
    this.model = model;
    this.requestedModel = request.modelId != null && request.modelId !== model.id ? request.modelId : null;
    this.session = session;
    this.dialect = dialect;
    this.scope = continuation?.scope ?? key.scope;
    this.credential = continuation?.credential ?? null;
    this.storedInput = continuation?.storedInput ?? 0;
  }

  /** Whether it may be charged by the tiers of batches. */
  get isDeferred(): boolean {
    return this.exchange.call.origin.isDeferred;
  }
}

/** Notes what log, traces and reports have of a request that was read. Returns the client's own name for the conversation. */
export function noteRequest(
  call: AdmittedCall,
  dialect: ClientDialectName,
  { truncated }: ClientRequest,
  isStreamed: boolean,
): string | null {
  const { exchange } = call;
  if (isStreamed) exchange.call.origin.rejectForm("stream");
  // Only now: the server should cut off a client that is slow to send its body, but not one that waits for a provider.
  exchange.call.keepWaiting();
  exchange.stream = isStreamed;
  if (exchange.trace !== null && exchange.trace.spanId !== null)
    exchange.parameters = requestParameters(truncated);
  return labelExchange(call, dialect, truncated);
}

/** The format that a request is in. */
interface RequestFormat {
  readonly dialect: ClientDialectName;
  /** Metered requests use their own formats, with providers of any dialect. */
  readonly isMetered?: true;
}

/** Finds the possible destinations of a request: one that names stored objects goes to the provider that has them. */
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
  const namesStored = mentions.references.length + mentions.addresses.length > 0;
  const continuation = namesStored ? await continuationOf(call.gateway.idOwners, continuing) : null;
  return new RoutedCall(call, read, model, dialect, session, continuation);
}
