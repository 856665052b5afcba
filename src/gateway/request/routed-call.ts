import type { ModelSettings } from "../../config/settings.ts";
import type { ClientDialectName } from "../../dialects/registry.ts";
import type { ClaimResult } from "../../idempotency/claims.ts";
import { AdmittedCall } from "../exchange/admitted-call.ts";
import type { Continuation } from "../references/provider-id-owners.ts";
import type { Compaction } from "../turns/compacting.ts";
import type { TurnInMaking } from "../turns/turn-body.ts";
import type { ClientRequest } from "./request.ts";

/** After reading: a valid request, and what becomes of the conversation that it belongs to. */
export interface ReadRequest {
  readonly request: ClientRequest;
  readonly turn: TurnPlan;
  /** The stored response, if its idempotency key was claimed to read it, and it was answered before. */
  readonly replay: Replay | null;
}

/** What becomes of the turn of a conversation. */
interface TurnPlan {
  /** What is kept of the response for a client that continues it; null if nothing is. */
  readonly keeping: TurnInMaking | null;
  /** Set if the response is the summary of a conversation. */
  readonly compaction: Compaction | null;
  /** The provider itself is asked to compact the conversation, by a request of its own. */
  readonly isCompactedUpstream: boolean;
}

export const noTurn: TurnPlan = { keeping: null, compaction: null, isCompactedUpstream: false };

/** The stored answer to an idempotency key that was used before. */
export type Replay = Extract<ClaimResult, { kind: "replay" }>;

/** After routing: the key may use the request's model, and the providers that may serve it are known. */
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
    { scope, credential, storedInput }: Continuation,
  ) {
    super(gateway, exchange, key);
    this.request = request;
    this.turn = turn;
    this.model = model;
    this.requestedModel = request.modelId != null && request.modelId !== model.id ? request.modelId : null;
    this.session = session;
    this.dialect = dialect;
    this.scope = scope;
    this.credential = credential;
    this.storedInput = storedInput;
  }
}
