import { assert } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import { unknownModelIn } from "../../base/models/unknown-model.ts";
import type { Quantities } from "../../base/money/rates.ts";
import type { LabelColumn } from "../../base/requests/labels.ts";
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
import type { ExchangeFacts, RequestParameters } from "../../observe/exchange.ts";
import type { KeyRecord, Outcome, OutcomeRecord, RequestOutcome, UsageRecord } from "../../store/store.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import type { ActiveConfig } from "../active-config.ts";
import { AttemptLog } from "./attempt-log.ts";
import type { ClientCall } from "./client-call.ts";
import { describeCause, errorCode, publicMessage } from "./describe-error.ts";
import { tracedFacts } from "./traced-facts.ts";
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
export interface EarlyAnswer {
  end(response: Response): Promise<void>;
  failure(thrown: unknown): Response;
}

/** Says where something of the rebuilt input is in what the client has sent. */
export type SentPaths = (text: string) => string;

const saneRequestId = /^[\w.:-]{1,128}$/;

/** One client request: what is true of every call, what it has taken, and what its end is recorded with. Later stages: stages.ts. */
export class Exchange {
  readonly id = newId("req_");
  readonly call: ClientCall;
  /** The configuration when the request came in. A reload meanwhile changes nothing for it. */
  readonly configured: ActiveConfig;
  readonly atMs: number;
  readonly startedMs: number;
  key: KeyRecord | null = null;
  /** Rate limits that the headers show: the key's requests, and what it has taken of limits of tokens; null if it falls under none. */
  rate: RateVerdict | null = null;
  reservedTokens: TokenReservation | null = null;
  /** The counted input of a request whose client disconnected before any output. Its limits of tokens keep it, charged or not. */
  abandonedTokens = 0;
  model: ModelSettings | null = null;
  /** What is stored of the labels that the client sent. */
  callerLabels: LabelColumn | null = null;
  stream = false;
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
  /** Null if it belongs to no trace. */
  trace: TraceContext | null = null;
  /** Set if the request gets a span. */
  parameters: RequestParameters | null = null;
  /** For a request that was rebuilt from what it continues, until it is answered: this holds all of its input. */
  sentPaths: SentPaths | null = null;

  // What the exchange has taken; `endExchange` gives it back.
  claim: Claim | null = null;
  /** On the conversation that it changes. */
  conversationClaim: Claim | null = null;
  hold: Hold | null = null;
  answer: OpenedCall | null = null;
  /** Memory reserved for a large response; null if there is none, or the response itself releases it. */
  memory: BodyReservation | null = null;
  formSlot: BodyReservation | null = null;
  recorder: ResponseRecorder | null = null;
  content: ContentRecording | null = null;
  /** Set once a stream's response has begun: the pump ends the exchange then, not the response. */
  pump: GuardedStream | null = null;
  /** Null unless the head was sent before a provider began to answer. */
  early: EarlyAnswer | null = null;
  isEnded = false;
  /** Why the gateway has ended the exchange; null if it has not. */
  endedBy: GatewayError | null = null;

  readonly #clock: Clock;
  /** Null if it is too large to compare with. */
  #body: Uint8Array | null = noBody;
  #ending: AbortController | null = null;
  #answerClient: (response: Response) => void = () => {};

  constructor(call: ClientCall, gateway: { readonly clock: Clock; readonly configured: ActiveConfig }) {
    this.call = call;
    this.configured = gateway.configured;
    this.#clock = gateway.clock;
    this.atMs = this.#clock.wallMs();
    this.startedMs = this.#clock.monotonicMs();
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
    return this.hold === null ? 0 : this.hold.charged;
  }

  /** The labels as JSON, with the affinity if that is unusual. */
  get labels(): string | null {
    const { callerLabels, model } = this;
    const affinity = model?.affinity === "none" ? "none" : null;
    if (affinity === null) return callerLabels && JSON.stringify(callerLabels);
    return JSON.stringify({ ...callerLabels, affinity });
  }

  elapsedMs(): number {
    return this.#clock.monotonicMs() - this.startedMs;
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
  answerEarly(early: EarlyAnswer, response: Response): void {
    this.early = early;
    this.#answerClient(response);
  }

  /** What is answered: the response of `run`, or one that begins earlier and continues with it. */
  firstOf(running: Promise<Response>): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.#answerClient = resolve;
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
    this.answer = answer;
    this.sentPaths = null;
    this.attempts.addAnswered(answer);
  }

  /** For reports; the ledger fills in the cost when it charges. */
  usageRecord(outcome: Outcome, status: number, { usage, basis }: ChargeFacts): UsageRecord {
    return { ...this.#recorded(status), atMs: this.atMs, outcome, usage, basis, costNano: 0 };
  }

  /** Why it ended as it did, for operators. A client that disconnected was sent no error. */
  outcomeRecord(outcome: RequestOutcome, status: number, thrown: unknown): OutcomeRecord {
    const error = outcome === "cancelled" ? null : thrown;
    const denied = error instanceof GatewayError ? error.denied : undefined;
    return {
      ...this.#recorded(status),
      atMs: this.#clock.wallMs(),
      startedAtMs: this.atMs,
      outcome,
      code: error === null ? null : errorCode(error),
      message: error === null ? null : this.#keptMessage(error),
      attemptDetails: this.attempts
        .records(error)
        .map((attempt) =>
          attempt.said === null ? attempt : { ...attempt, said: this.redactRequestText(attempt.said) },
        ),
      alike: 0,
      labels: this.labels,
      bound: denied?.bound ?? null,
      needed: denied?.needed ?? null,
    };
  }

  /** The fields that a usage record and an outcome record share. */
  #recorded(status: number) {
    const { key, stream, firstByteMs } = this;
    const { deployment, count } = this.attempts;
    assert(key !== null, "an exchange is recorded under its key");
    return {
      exchangeId: this.id,
      keyId: key.id,
      route: this.call.route.path,
      model: this.model?.id ?? "",
      provider: deployment?.provider.settings.name ?? "",
      upstreamModel: deployment?.shownModel ?? "",
      stream,
      status,
      firstByteMs,
      totalMs: this.elapsedMs(),
      attempts: count,
    };
  }

  /** An unknown model is stored with its name: the operator needs it, and the message has nothing else of the request. */
  #keptMessage(error: unknown): string {
    const message = publicMessage(error);
    return unknownModelIn(message) === null ? this.redactRequestText(message) : message;
  }

  /** The message without anything that the client has sent. */
  redactRequestText(message: string): string {
    const known = new Set([this.model?.id ?? "", this.attempts.deployment?.upstreamModel ?? ""]);
    return withoutRequestText(message, this.#body, known);
  }

  /** A client that disconnected was sent no error, and is most often its cause: the body or the response broke off. */
  facts(status: number, outcome: string, error: unknown): ExchangeFacts {
    const { attempts, charge } = this;
    const { deployment } = attempts;
    return {
      requestId: this.id,
      callerRequestId: this.callerId,
      method: this.call.route.method,
      route: this.call.route.path,
      mode: this.key?.mode ?? this.call.route.mode,
      tracedAs: this.call.route.tracedAs,
      atMs: this.atMs,
      endedAtMs: this.#clock.wallMs(),
      keyId: this.key?.id ?? null,
      keyPrefix: this.key?.prefix ?? null,
      address: this.key === null ? this.call.address : null,
      model: this.model?.id ?? null,
      isUnlistedModel: this.model?.isUnlisted,
      provider: deployment?.provider.settings.name ?? null,
      deployment: deployment?.name ?? null,
      stream: this.stream,
      status,
      outcome,
      errorCode: error === null || outcome === "cancelled" ? null : errorCode(error),
      cause: error === null ? null : describeCause(error),
      usage: charge?.usage ?? null,
      basis: charge?.basis ?? null,
      charged: this.charged,
      listCostNano: charge?.listCostNano ?? null,
      firstByteMs: this.firstByteMs,
      totalMs: this.elapsedMs(),
      attempts: attempts.count,
      failedAttempts: attempts.failed,
      trace: this.trace,
      // Most gateways trace nothing, so nothing is computed for a span then.
      traced: this.trace === null || this.trace.spanId === null ? null : tracedFacts(this),
    };
  }
}
