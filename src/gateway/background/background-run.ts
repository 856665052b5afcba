import { GatewayError } from "../../base/errors.ts";
import type { Usage } from "../../base/usage/usage.ts";
import {
  backgroundStatus,
  cancelledHead,
  failedHead,
  inProgress,
  keptEvent,
  responseEvent,
  withoutOutput,
} from "../../dialects/openai-responses/client/background.ts";
import { anyResponse, responsePieces } from "../../dialects/openai-responses/client/turn-items.ts";
import { SseDecoder } from "../../dialects/sse/sse.ts";
import { StoreError, type TurnRecord } from "../../store/store.ts";
import { namedAsSent } from "../conversations/sent-paths.ts";
import { bytesOf, type Piece } from "../exchange/client-call.ts";
import { publicErrorOf } from "../exchange/describe-error.ts";
import type { EarlyResponse, Exchange, ExchangeEnd } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import type { BackgroundPlan, RunningBackground } from "../turns/backgrounds.ts";
import type { Turn } from "../turns/turn-body.ts";
import type { DetachedCall } from "./detached-call.ts";
import { EventLog } from "./event-log.ts";

/** Interval and number of attempts to store the end of a response. After that, or a crash, it has failed. */
const [retryMs, maxRetries] = [500, 60];

/** The part of a response that is stored before a provider responds. */
export type QueuedTurn = Pick<Turn, "id" | "head" | "input" | "parentId">;

interface FinalResponse {
  /** The type of its last event. */
  readonly type: string;
  readonly response: Uint8Array;
}

interface BackgroundRunParts {
  readonly gateway: Gateway;
  readonly keyId: string;
  readonly plan: BackgroundPlan;
  /** The call that runs it; null if it only has to be ended. */
  readonly call: DetachedCall | null;
  readonly queued: QueuedTurn;
  /** Number of its events that are stored already. */
  readonly events: number;
}

/**
 * A response in the background while it runs: the outlet of an ordinary exchange, which stores in place of sending. A completed
 * response is stored by the settle; here are the events, and every other end.
 */
export class BackgroundRun implements EarlyResponse, RunningBackground {
  readonly id: string;
  readonly keyId: string;
  /** The number of this node when the run began. */
  readonly node: number;
  readonly #call: DetachedCall | null;
  readonly #gateway: Gateway;
  readonly queued: QueuedTurn;
  readonly #log: EventLog | null;
  readonly #decoder = new SseDecoder();
  readonly #delivered = Promise.withResolvers<void>();
  readonly #ending = Promise.withResolvers<void>();
  #change = Promise.withResolvers<void>();
  #exchange: Exchange | null = null;
  /** The response as it has ended; null before. */
  #final: FinalResponse | null = null;
  #isAnswered = false;

  constructor({ gateway, keyId, plan, call, queued, events }: BackgroundRunParts) {
    const { backgrounds, configured } = gateway;
    this.id = queued.id;
    this.keyId = keyId;
    this.node = backgrounds.node;
    this.#call = call;
    this.#gateway = gateway;
    this.queued = queued;
    const options = {
      records: backgrounds.store.background,
      owned: this,
      key: configured.settings.responses.encryptionKey,
      onStored: () => this.#notify(),
    };
    this.#log = plan.isStreamed ? new EventLog(options, events) : null;
    if (events === 0) {
      this.#announce("response.created", queued.head);
      this.#announce("response.queued", queued.head);
    }
  }

  get ended(): Promise<void> {
    return this.#ending.promise;
  }

  changed(): Promise<void> {
    return this.#change.promise;
  }

  cancel(): void {
    this.#call?.cancel();
  }

  /** Connects the exchange that this run continues. */
  attach(exchange: Exchange): void {
    this.#exchange = exchange;
    exchange.timeoutMs = exchange.configured.settings.responses.backgroundTimeoutMs;
    if (this.#call !== null) exchange.detach(this.#call);
  }

  /** Durable before anything can be charged: from now on it is not run again. */
  async answered(): Promise<void> {
    if (!(await this.#gateway.backgrounds.store.background.progress(this))) throw takenOver();
    this.#isAnswered = true;
    this.#announce("response.in_progress", inProgress(this.queued.head));
  }

  #write(piece: Piece): number | Promise<number> {
    for (const frame of this.#decoder.push(bytesOf(piece))) {
      const kept = keptEvent(frame, this.id);
      if (kept?.kind === "numbered") this.#log?.add(kept.write(this.#log.next));
      if (kept?.kind === "end") this.#final = kept;
    }
    return this.#log?.room()?.then(() => piece.length) ?? piece.length;
  }

  /** Takes what a client would be sent. */
  async end(response: Response): Promise<void> {
    const source = this.#call?.source ?? null;
    try {
      if (source === null) this.#write(await response.bytes());
      else if (this.#isCancelled) source.cancel();
      else await source.pull({ write: (piece) => this.#write(piece), end: () => {} });
    } catch (error) {
      this.fail(publicErrorOf(error));
    } finally {
      this.#delivered.resolve();
    }
  }

  failure(thrown: unknown): Response {
    if (!this.#isLeft) {
      const error = namedAsSent(publicErrorOf(thrown), this.#exchange?.sentPaths ?? null);
      this.fail(error);
    }
    return new Response(null);
  }

  /** The settle has stored it, and only its last event is missing. */
  async settled({ head, output, parentId }: Turn): Promise<void> {
    const { status = "" } = backgroundStatus(head) ?? {};
    const type = status === "completed" || status === "incomplete" ? `response.${status}` : "response.failed";
    this.#final = { type, response: Buffer.concat(responsePieces(head, output, parentId)) };
    await this.finish("completed");
  }

  fail(error: GatewayError): void {
    this.#final ??= this.#failed(error);
  }

  over(end: ExchangeEnd): void {
    const { ongoing, backgrounds } = this.#gateway;
    const exchange = this.#exchange;
    backgrounds.leave(this.keyId, this.id);
    const finishing = this.#delivered.promise.then(() => this.finish(end.outcome));
    if (exchange !== null) void ongoing.withoutSlot(exchange, () => finishing.catch(backgrounds.onError));
  }

  /** Stores how it has ended, unless it waits for another start. */
  async finish(outcome: ExchangeEnd["outcome"]): Promise<void> {
    const { backgrounds, clock } = this.#gateway;
    try {
      if (this.#isLeft) return;
      const { type, response, isStored } = await this.#finalOf(outcome);
      const turn = isStored ? null : await this.#turnOf(response);
      const last = this.#log && (await this.#log.last(responseEvent(type, response, this.#log.next)));
      const end = { owned: { id: this.id, node: this.node }, atMs: Math.floor(clock.wallMs()), turn, last };
      await persistently(() => backgrounds.store.background.end(end));
    } finally {
      backgrounds.remove(this.keyId, this.id);
      this.#ending.resolve();
      this.#notify();
    }
  }

  /** Whether the gateway stops before a provider has responded, so that another start can run the request. */
  get #isLeft(): boolean {
    return !this.#isAnswered && !this.#isCancelled && (this.#exchange?.endedBy ?? null) !== null;
  }

  get #isCancelled(): boolean {
    return this.#call?.isCancelled === true;
  }

  async #finalOf(outcome: ExchangeEnd["outcome"]): Promise<FinalResponse & { readonly isStored: boolean }> {
    if (outcome === "cancelled") {
      const response = withoutOutput(cancelledHead(this.queued.head, this.#chargedUsage));
      return { type: "response.failed", response, isStored: false };
    }
    const final = this.#final ?? this.#failed(interrupted());
    if (outcome !== "completed") return { ...final, isStored: false };
    const isStored = await this.#isStored();
    return isStored ? { ...final, isStored } : { ...this.#failed(unstorable()), isStored };
  }

  /** Whether the settle has stored it: a response can be too large for that. */
  async #isStored(): Promise<boolean> {
    const { turns, configured } = this.#gateway;
    const reader = { keyId: this.keyId, settings: configured.settings, reserve: () => {} };
    const stored = await persistently(() => turns.find(reader, this.id));
    return stored !== null && backgroundStatus(stored.head)?.isOpen === false;
  }

  async #turnOf(response: Uint8Array): Promise<TurnRecord | null> {
    const { turns, configured } = this.#gateway;
    const { parentId, input } = this.queued;
    const facts = {
      keyId: this.keyId,
      model: this.#exchange?.model?.id ?? "",
      provider: this.#exchange?.attempts.deployment?.provider.settings.name ?? "",
      parentId,
      input,
      response: anyResponse(response, this.id),
      conversation: null,
    };
    const [turn = null] = await turns.record(facts, configured.settings);
    return turn;
  }

  #failed(error: GatewayError): FinalResponse {
    const response = withoutOutput(failedHead(this.queued.head, error, this.#chargedUsage));
    return { type: "response.failed", response };
  }

  get #chargedUsage(): Usage | null {
    return this.#exchange?.charge?.usage ?? null;
  }

  #announce(type: string, head: Uint8Array): void {
    this.#log?.add(responseEvent(type, withoutOutput(head), this.#log.next));
  }

  #notify(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

async function persistently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError) || tries >= maxRetries) throw error;
      await Bun.sleep(retryMs);
    }
  }
}

function takenOver(): GatewayError {
  return new GatewayError("service_unavailable", "Another gateway has taken over the response.");
}

function unstorable(): GatewayError {
  const message = "The response is too large to be stored. Use `stream: true` without `background`.";
  return new GatewayError("internal_error", message);
}

/** Why a response has failed whose process ended. */
export function interrupted(): GatewayError {
  const message = "The gateway stopped while it produced this response. Create it again.";
  return new GatewayError("internal_error", message);
}
