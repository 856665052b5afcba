import { assert } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import type { GatewayError } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import type { Quantities } from "../../base/money/rates.ts";
import { type LabelColumn, uncounted } from "../../base/requests/labels.ts";
import { type TraceContext, traceContextOf } from "../../base/requests/trace-context.ts";
import { maskSecrets } from "../../base/secrets/secrets.ts";
import type { ExtraUsage, Usage, UsageBasis } from "../../base/usage/usage.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { ContentRecording } from "../../content/recording.ts";
import type { Claim } from "../../idempotency/claims.ts";
import type { ResponseRecorder } from "../../idempotency/recorder.ts";
import type { Hold } from "../../ledger/accounts.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";
import type { RateVerdict, TokenReservation } from "../../limits/bucket.ts";
import type { Slot } from "../../limits/concurrency.ts";
import type { RequestParameters } from "../../observe/exchange.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import type { ActiveConfig } from "../active-config.ts";
import { AttemptLog } from "./attempt-log.ts";
import type { ClientCall } from "./client-call.ts";
import { comparedBytes, withoutRequestText } from "./describe-error.ts";
import type { GuardedStream } from "./watchdog.ts";

const noBody = new Uint8Array();
const none: readonly string[] = [];

/** The usage of a call that was charged. */
export interface ChargeFacts {
  readonly usage: Usage;
  readonly basis: UsageBasis;
  readonly quantities: Quantities;
  /** Usage in addition to plain tokens; null for none. */
  readonly extras: ExtraUsage | null;
  /** Null for a credit key, which is charged its cost, and without a price. */
  readonly listCostNano: number | null;
}

/** nginx's status for a client that disconnected before the response. Appears in logs, metrics and reports only. */
export const clientClosedRequest = 499;

/** A response that began before a provider responded, and continues with the result. */
export interface EarlyResponse {
  end(response: Response): Promise<void>;
  failure(thrown: unknown): Response;
  /** Called when a provider has begun to respond. Throws if the response is no longer wanted. */
  answered?(): Promise<void>;
  /** The exchange ends. */
  over?(end: ExchangeEnd): void;
}

/** How an exchange has ended. */
export interface ExchangeEnd {
  /** The status that the client got. */
  readonly status: number;
  readonly outcome: "completed" | "failed" | "cancelled" | "rejected" | "replayed";
  readonly error: unknown;
}

/** Why another model runs than the requested one. */
export interface SteppedDown {
  /** The requested one. */
  readonly from: ModelSettings;
  /** The error of the cap that denied the model before this one. */
  readonly denial: GatewayError;
}

/** Translates a path in the rebuilt input to the path in the client's request. */
export type SentPaths = (text: string) => string;

const saneRequestId = /^[\w.:-]{1,128}$/;

/** The amount that an exchange has taken from the budget of a playground's secret. */
export interface PlaygroundShare {
  readonly hash: string;
  taken: number;
}

/** Resources that an exchange holds; `endExchange` returns them. */
class Taken {
  claim: Claim | null = null;
  /** The claim on the conversation that it changes. */
  conversationClaim: Claim | null = null;
  /** Tokens reserved in limits; null if no limit applies. */
  reservedTokens: TokenReservation | null = null;
  hold: Hold | null = null;
  /** Null if the client has presented no secret of the playground. */
  playground: PlaygroundShare | null = null;
  /** The provider's response. */
  answer: OpenedCall | null = null;
  /** Memory reserved for a large response; null if there is none, or the response itself releases it. */
  memory: BodyReservation | null = null;
  /** The slot of a body that is read from the store, as `memory`. */
  download: Slot | null = null;
  formSlot: BodyReservation | null = null;
  recorder: ResponseRecorder | null = null;
  content: ContentRecording | null = null;
}

/** One client request: the facts about it (records.ts has those that are stored), the resources it holds, and its end. */
export class Exchange {
  readonly id: string;
  /** Replaced if the exchange outlives it. */
  call: ClientCall;
  readonly clock: Clock;
  /** The configuration when the request arrived, or was held. A later reload does not affect it. */
  readonly configured: ActiveConfig;
  readonly atMs: number;
  readonly startedMs: number;
  /** The moment that decides its prices: its arrival, until it is held. */
  pricedAtMs: number;
  key: KeyRecord | null = null;
  /** Whether the client has presented a sign-in's access token, not a key. */
  isSignIn = false;
  /** The key's rate limit, which the headers show. */
  rate: RateVerdict | null = null;
  /** The counted input of a request whose client disconnected before any output. Its limits of tokens keep it, charged or not. */
  abandonedTokens = 0;
  /** The requested one, or what a cap lets it run on instead. */
  model: ModelSettings | null = null;
  steppedDown: SteppedDown | null = null;
  /** The fallback that runs instead, if any. */
  fallback: ModelSettings | null = null;
  /** The client's labels in their stored form. */
  callerLabels: LabelColumn | null = null;
  stream = false;
  readonly taken = new Taken();
  readonly attempts = new AttemptLog();
  firstByteMs: number | null = null;
  /** The facts of its charge; null before. */
  charge: ChargeFacts | null = null;
  /** A replay of a stored response, or a request that was handed over: free, and in no report. */
  isReplay = false;
  /** Its outcome was stored together with its charge. */
  isOutcomeRecorded = false;
  /** Fields of the request that were not sent to the provider: those that its dialect lacks, and tools without a price. */
  dropped: readonly string[] = none;
  unpricedTools: readonly string[] = none;
  /** Set if the response is charged and stored even if the client disconnects: then only the gateway ends it. */
  outlivesClient = false;
  /** Time limit; null for the model's own. */
  timeoutMs: number | null = null;
  /** Null if it belongs to no trace. */
  trace: TraceContext | null = null;
  /** Its name in the GenAI conventions, where the path's method decides it; null for the route's. */
  tracedAs: string | null = null;
  /** Set if the request gets a span. */
  parameters: RequestParameters | null = null;
  /**
   * Set for a request that was rebuilt from what it continues, until it has a response, because this keeps all of its
   * input in memory.
   */
  sentPaths: SentPaths | null = null;

  /** Set once a stream's response has begun: the pump then ends the exchange, not the response. */
  pump: GuardedStream | null = null;
  /** Null unless the head was sent before a provider began to respond. */
  early: EarlyResponse | null = null;
  /** How it has ended; null before. */
  ended: ExchangeEnd | null = null;
  /** Why the gateway has ended the exchange; null if it has not. */
  endedBy: GatewayError | null = null;

  /** Null if it is too large to compare with. */
  #body: Uint8Array | null = noBody;
  #ending: AbortController | null = null;
  #respondToClient: (response: Response) => void = () => {};

  constructor(call: ClientCall, gateway: { readonly clock: Clock; readonly configured: ActiveConfig }) {
    this.call = call;
    this.id = call.origin.earlier?.hold?.id ?? newId("req_");
    this.configured = call.origin.earlier?.configured ?? gateway.configured;
    this.clock = gateway.clock;
    this.atMs = this.clock.wallMs();
    this.pricedAtMs = this.atMs;
    this.startedMs = this.clock.monotonicMs();
  }

  /** Reads which trace the client belongs to. For requests that are charged. */
  joinTrace(): void {
    const { headers } = this.call.request;
    const isTraced = this.configured.settings.tracing !== null;
    if (isTraced || headers.has("traceparent")) this.trace = traceContextOf(headers, isTraced);
  }

  /** The client's own id of the request; null if it sent none, or one that cannot be shown. */
  get callerId(): string | null {
    const id = this.call.request.headers.get("x-request-id");
    return id !== null && saneRequestId.test(id) && maskSecrets(id) === id ? id : null;
  }

  /** The charged amount; 0 before. */
  get charged(): number {
    return this.taken.hold?.charged ?? 0;
  }

  /** The client's own name for the conversation, as it is stored; null without one. */
  get namedSession(): string | null {
    const { callerLabels } = this;
    return callerLabels?.["session"] ?? callerLabels?.[`${uncounted}session`] ?? null;
  }

  /** The request runs on another model, because a cap denied the one before. */
  stepDownTo(model: ModelSettings, denial: GatewayError): void {
    assert(this.model !== null, "a request steps down from a model");
    this.steppedDown = { from: this.steppedDown?.from ?? this.model, denial };
    this.attempts.addDenied(this.model.id, denial);
    this.model = model;
  }

  /** The labels as JSON, with the affinity if that is unusual, and the requested model if another one runs. */
  get labels(): string | null {
    return this.labelsFor(this.runningModel);
  }

  /** The labels of a charge for this model. */
  labelsFor(running: ModelSettings | null): string | null {
    const { callerLabels, model, steppedDown } = this;
    const hasAffinity = model?.affinity !== "none";
    if (model === running && steppedDown === null && hasAffinity)
      return callerLabels && JSON.stringify(callerLabels);
    return JSON.stringify({
      ...callerLabels,
      ...(model === running ? null : { fallback_from: model?.id }),
      ...(steppedDown === null ? null : { stepped_down_from: steppedDown.from.id }),
      ...(hasAffinity ? null : { affinity: "none" }),
    });
  }

  /** The model of the hold: the requested one, or the fallback that is tried in its place. */
  get runningModel(): ModelSettings | null {
    return this.fallback ?? this.model;
  }

  elapsedMs(): number {
    return this.clock.monotonicMs() - this.startedMs;
  }

  /** Stored error messages must not quote the request, and are compared with it. */
  rememberBody(bytes: Uint8Array): void {
    this.#body = bytes.length <= comparedBytes ? bytes : null;
  }

  /** A WebSocket has no head, and its events no heartbeat before the first one. */
  get mayBeginEarly(): boolean {
    return this.call.route.dialect !== null && this.call.takeStream === undefined;
  }

  /** The status that the client got, given the status that this response would have. */
  answeredWith(status: number): number {
    return this.early === null ? status : 200;
  }

  /** Responds to the client before a provider does. */
  respondEarly(early: EarlyResponse, response: Response): void {
    this.early = early;
    this.#respondToClient(response);
  }

  /** The response to send: the result of `run`, or one that begins earlier and continues with it. */
  firstOf(running: Promise<Response>): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.#respondToClient = resolve;
      running.then(
        (response) => (this.early === null ? resolve(response) : this.early.end(response)),
        reject,
      );
    });
  }

  /** It runs elsewhere from now on, with its hold. The response is not read. */
  handedOver(): Response {
    this.taken.hold = null;
    this.taken.content = null;
    this.isReplay = true;
    return new Response(null, { status: 202 });
  }

  sawFirstByte(): void {
    this.firstByteMs ??= this.elapsedMs();
  }

  /** Ends the exchange before its response has begun, because the gateway is shutting down. */
  end(error: GatewayError): void {
    this.endedBy ??= error;
    this.#ending?.abort(this.endedBy);
  }

  /** The exchange continues without its client, until this call is aborted. */
  detach(call: ClientCall): void {
    this.call = call;
    const { signal } = call.request;
    signal.addEventListener("abort", () => this.#ending?.abort(signal.reason), { once: true });
  }

  get hasClientDisconnected(): boolean {
    return this.call.request.signal.aborted;
  }

  /** True if the response is no longer wanted: the client has disconnected, or the gateway has ended the exchange. */
  get isOver(): boolean {
    return this.endedBy !== null || (!this.outlivesClient && this.hasClientDisconnected);
  }

  /** Fires when the exchange is over. Created on first use, which most exchanges never need. */
  get signal(): AbortSignal {
    this.#ending ??= this.#listenForEnd();
    return this.#ending.signal;
  }

  #listenForEnd(): AbortController {
    const ending = new AbortController();
    const client = this.call.request.signal;
    if (this.endedBy !== null) ending.abort(this.endedBy);
    if (this.endedBy !== null || this.outlivesClient) return ending;
    if (client.aborted) ending.abort(client.reason);
    else client.addEventListener("abort", () => this.isOver && ending.abort(client.reason), { once: true });
    return ending;
  }

  answeredBy(answer: OpenedCall): void {
    this.taken.answer = answer;
    this.sentPaths = null;
    this.attempts.addAnswered(answer);
  }

  /** The message without anything that the client has sent. */
  redactRequestText(message: string): string {
    const known = new Set([this.model?.id ?? "", this.attempts.deployment?.upstreamModel ?? ""]);
    return withoutRequestText(message, this.#body, known);
  }
}
