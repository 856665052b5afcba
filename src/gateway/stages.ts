import type { ModelSettings } from "../config/settings.ts";
import type { ClientDialectName } from "../dialects/registry.ts";
import type { ClaimResult } from "../idempotency/claims.ts";
import type { BodyReservation } from "../limits/body-budget.ts";
import type { KeyRecord } from "../store/store.ts";
import type { ActiveConfig } from "./active-config.ts";
import { largeBodyBytes } from "./body-worker/is-large.ts";
import type { JobOwner } from "./body-worker/job.ts";
import type { Compaction } from "./conversations/compacting.ts";
import type { TurnInMaking } from "./conversations/turn-body.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import type { Continuation } from "./request/provider-id-owners.ts";
import type { ClientRequest } from "./request/request.ts";

/** Much less than a provider may take to respond: what waits here keeps its own request in memory. */
const maxMemoryWaitMs = 10_000;

/*
 * The stages of a request. Each is created once, when its step has succeeded, and does not change. A step takes the stage that it
 * needs, so that it cannot run too early and has nothing to check. The exchange has what is true of every call, however far it came.
 */

/** After admission: the key is valid here and within its request rate. */
export class AdmittedCall implements JobOwner {
  readonly gateway: Gateway;
  readonly exchange: Exchange;
  readonly key: KeyRecord;

  constructor(gateway: Gateway, exchange: Exchange, key: KeyRecord) {
    this.gateway = gateway;
    this.exchange = exchange;
    this.key = key;
  }

  get keyId(): string {
    return this.key.id;
  }

  get configured(): ActiveConfig {
    return this.exchange.configured;
  }

  get isOver(): boolean {
    return this.exchange.isOver;
  }

  /** Waits a while for the memory for something large that is to be read. Rejects if the exchange has ended meanwhile. */
  async awaitMemory(bytes: number): Promise<void> {
    if (bytes < largeBodyBytes) return;
    const { exchange } = this;
    exchange.memory ??= this.#reserve();
    await exchange.memory.growWhenFree(bytes, maxMemoryWaitMs);
    exchange.signal.throwIfAborted();
  }

  #reserve(): BodyReservation {
    const reservation = this.gateway.answers.reserve(this.key.id);
    this.exchange.signal.addEventListener("abort", () => reservation.release(), { once: true });
    return reservation;
  }
}

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
