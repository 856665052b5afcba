import { assert } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import type { GatewayError } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import type { Quantities } from "../../base/money/rates.ts";
import { type LabelColumn, uncounted } from "../../base/requests/labels.ts";
import { type TraceContext, traceContextOf } from "../../base/requests/trace-context.ts";
import { maskSecrets } from "../../base/secrets/secrets.ts";
import type { Usage, UsageBasis } from "../../base/usage/usage.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { ContentRecording } from "../../content/recording.ts";
import type { Claim } from "../../idempotency/claims.ts";
import type { ResponseRecorder } from "../../idempotency/recorder.ts";
import type { Hold } from "../../ledger/accounts.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";
import type { RateVerdict, TokenReservation } from "../../limits/verdict.ts";
import type { RequestParameters } from "../../observe/exchange.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import type { ActiveConfig } from "../active-config.ts";
import { AttemptLog } from "./attempt-log.ts";
import type { ClientCall } from "./client-call.ts";
import type { GuardedStream } from "./watchdog.ts";
import { comparedBytes, withoutRequestText } from "./without-request-text.ts";

const noBody = new Uint8Array();
const none: readonly string[] = [];

/** The usage of a call that was charged. */
export interface ChargeFacts {
  readonly usage: Usage;
  readonly basis: UsageBasis;
  readonly quantities: Quantities;
  /** Null for a credit key, which is charged its cost, and without a price. */
  readonly listCostNano: number | null;
}

/** nginx's status for a client that disconnected before the response. Appears in logs, metrics and reports only. */
export const clientClosedRequest = 499;

/** A response that began before a provider answered, and continues with what comes of that. */
export interface EarlyResponse {
  end(response: Response): Promise<void>;
  failure(thrown: unknown): Response;
  /** A provider has begun to answer. Throws if that is not wanted any more. */
  answered?(): Promise<void>;
  /** The exchange ends. */
  over?(end: ExchangeEnd): void;
}

/** How an exchange has ended. */
export interface ExchangeEnd {
  /** The status the client was answered with. */
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

/** Says where something of the rebuilt input is in what the client has sent. */
export type SentPaths = (text: string) => string;

const saneRequestId = /^[\w.:-]{1,128}$/;

/** What an exchange with a secret of the playground has taken of the amount that the secret can spend. */
export interface PlaygroundShare {
  readonly hash: string;
  taken: number;
}

/** What an exchange has taken; `endExchange` gives it back. */
class Taken {
  claim: Claim | null = null;
  /** On the conversation that it changes. */
  conversationClaim: Claim | null = null;
  /** From limits of tokens; null if it falls under none. */
  reservedTokens: TokenReservation | null = null;
  hold: Hold | null = null;
  /** Null if the client has presented no secret of the playground. */
  playground: PlaygroundShare | null = null;
  /** The provider's response. */
  answer: OpenedCall | null = null;
  /** Memory reserved for a large response; null if there is none, or the response itself releases it. */
  memory: BodyReservation | null = null;
  formSlot: BodyReservation | null = null;
  recorder: ResponseRecorder | null = null;
  content: ContentRecording | null = null;
}

/** One client request: what is known of it (records.ts says what is stored of that), what it has taken, and how it ends. */
export class Exchange {
  readonly id = newId("req_");
  /** Replaced if the exchange outlives it. */
  call: ClientCall;
  readonly clock: Clock;
  /** The configuration when the request came in. A reload meanwhile changes nothing for it. */
  readonly configured: ActiveConfig;
  readonly atMs: number;
  readonly startedMs: number;
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
  /** Set while a fallback runs in its place. */
  fallback: ModelSettings | null = null;
  /** What is stored of the labels that the client sent. */
  callerLabels: LabelColumn | null = null;
  stream = false;
  readonly taken = new Taken();
  readonly attempts = new AttemptLog();
  firstByteMs: number | null = null;
  /** What it was charged for; null before. */
  charge: ChargeFacts | null = null;
  /** It was answered before: free, and in no report. */
  isReplay = false;
  /** Its outcome was stored together with its charge. */
  isOutcomeRecorded = false;
  /** Fields of the request that were not sent to the provider: those that its dialect lacks, and tools without a price. */
  dropped: readonly string[] = none;
  unpricedTools: readonly string[] = none;
  /** Set if the response is charged and stored even if the client disconnects: then only the gateway ends it. */
  outlivesClient = false;
  /** How long it may take; null for what its model allows. */
  timeoutMs: number | null = null;
  /** Null if it belongs to no trace. */
  trace: TraceContext | null = null;
  /** Set if the request gets a span. */
  parameters: RequestParameters | null = null;
  /** For a request that was rebuilt from what it continues, until it is answered: this holds all of its input. */
  sentPaths: SentPaths | null = null;

  /** Set once a stream's response has begun: the pump ends the exchange then, not the response. */
  pump: GuardedStream | null = null;
  /** Null unless the head was sent before a provider began to answer. */
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
    this.configured = gateway.configured;
    this.clock = gateway.clock;
    this.atMs = this.clock.wallMs();
    this.startedMs = this.clock.monotonicMs();
  }

  /** Reads which trace the client belongs to. For requests that are charged. */
  joinTrace(): void {
    this.trace = traceContextOf(this.call.request.headers, this.configured.settings.tracing !== null);
  }

  /** The client's own id of the request; null if it sent none, or one that cannot be shown. */
  get callerId(): string | null {
    const id = this.call.request.headers.get("x-request-id");
    return id !== null && saneRequestId.test(id) && maskSecrets(id) === id ? id : null;
  }

  /** What it was charged; 0 before. */
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

  /** The model that the hold is for: the requested one, or the fallback that is tried in its place. */
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

  /** The status that the client got, for one that would be answered with this. */
  answeredWith(status: number): number {
    return this.early === null ? status : 200;
  }

  /** Answers the client before a provider does. */
  respondEarly(early: EarlyResponse, response: Response): void {
    this.early = early;
    this.#respondToClient(response);
  }

  /** What is answered: the response of `run`, or one that begins earlier and continues with it. */
  firstOf(running: Promise<Response>): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.#respondToClient = resolve;
      running.then(
        (response) => (this.early === null ? resolve(response) : this.early.end(response)),
        reject,
      );
    });
  }

  sawFirstByte(): void {
    this.firstByteMs ??= this.elapsedMs();
  }

  /** Ends the exchange before its answer has begun, because the gateway is shutting down. */
  end(error: GatewayError): void {
    this.endedBy ??= error;
    this.#ending?.abort(this.endedBy);
  }

  /** The exchange goes on without its client, until this call is aborted. */
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
