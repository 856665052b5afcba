import { traceHeaders } from "../../base/requests/trace-context.ts";
import { type InputEstimate, maxInputTokens } from "../../catalog/estimate.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import type { OutputLimit } from "../../dialects/output-limit.ts";
import { type ClientDialectName, clientDialect } from "../../dialects/registry.ts";
import type { Deployment, GenerationPlan, ReceivedBytes } from "../../upstream/upstream.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import type { RequestedExtras } from "../charge/extras.ts";
import type { WantedHold } from "../charge/hold.ts";
import { recordUpstream } from "../content.ts";
import type { TurnInMaking } from "../conversations/turn-body.ts";
import type { HoldPlan } from "../lifecycle.ts";
import { conversationHash } from "../request/labels.ts";
import type { ClientRequest } from "../request/request.ts";
import { ExchangePlan, type RoutedCall } from "../stages.ts";
import type { Attempt } from "./attempt.ts";
import { type PreparedAttempt, prepareAttempt, prepareLargeAttempt } from "./prepare.ts";

/** A request within the limits of its model, and what it may cost in addition to its tokens. */
export interface PricedGeneration {
  readonly limit: OutputLimit;
  readonly estimatedInput: InputEstimate;
  readonly extras: RequestedExtras | null;
}

/** A client's request as a plan for the upstream. */
export class Generation extends ExchangePlan implements GenerationPlan, HoldPlan {
  /** As it is sent: without tools that have no price. */
  readonly request: ClientRequest;
  readonly clientDialect: ClientDialectName;
  readonly stream: boolean;
  readonly headers: ForwardedHeaders;
  readonly trace: ForwardedHeaders | null;
  readonly limit: OutputLimit;
  readonly estimatedInput: InputEstimate;
  readonly atSeconds: number;
  readonly keeping: TurnInMaking | null;
  readonly isCompactedUpstream: boolean;
  readonly hasSlot = false;
  /** Whether reasoning of earlier turns is sent with its signature. */
  sendsSignatures = true;
  /** The last attempt. */
  attempt: Attempt | null = null;
  readonly #extras: RequestedExtras | null;
  #conversation: number | null = null;

  constructor(call: RoutedCall, request: ClientRequest, { limit, estimatedInput, extras }: PricedGeneration) {
    super(call);
    const { exchange, dialect } = call;
    this.request = request;
    this.clientDialect = dialect;
    this.stream = request.stream;
    this.headers = clientDialect(dialect).forwardHeaders(exchange.call.request.headers);
    this.trace = exchange.trace === null ? null : traceHeaders(exchange.trace);
    this.limit = limit;
    this.estimatedInput = estimatedInput;
    this.atSeconds = Math.floor(exchange.atMs / 1000);
    this.keeping = call.turn.keeping;
    this.isCompactedUpstream = call.turn.isCompactedUpstream;
    this.#extras = extras;
  }

  get wanted(): WantedHold {
    const { model, request, limit, estimatedInput } = this;
    const { key, storedInput, requestedModel } = this.call;
    const input = maxInputTokens(estimatedInput, model.contextWindow) + storedInput;
    return {
      key,
      model,
      requestedModel,
      extras: this.#extras,
      atMost: { input, output: limit.maxOutputTokens },
      usual: { input: estimatedInput.tokens + storedInput, output: limit.maxOutputTokens },
      storedInput,
      requestBytes: request.bytes,
      canBeCounted: estimatedInput.unmeasured === 0,
    };
  }

  /** Whether the provider is asked to store the answer, so that a later request can refer to it by its id. */
  get isStoredUpstream(): boolean {
    const { keeping, request, clientDialect: dialect } = this;
    if (dialect !== "responses") return request.isThreaded;
    return keeping === null ? request.mayStore : keeping.isProviders;
  }

  get conversation(): number | null {
    if (this.model.affinity === "none") return null;
    this.#conversation ??= conversationHash(this.keyId, this.call.session, this.request);
    return this.#conversation;
  }

  dropSignatures(): boolean {
    const { stripSignedReasoning: strip } = clientDialect(this.clientDialect);
    const { truncated } = this.request;
    const mayLeaveOut = this.sendsSignatures && strip !== null && strip(truncated) !== truncated;
    if (mayLeaveOut) this.sendsSignatures = false;
    return mayLeaveOut;
  }

  get webSearches(): number {
    return this.#extras?.webSearches ?? 0;
  }

  prepare(deployment: Deployment): PreparedRequest | Promise<PreparedRequest> {
    if (this.request.large !== null) return this.#prepareLarge(deployment);
    return this.#begin(prepareAttempt(this, deployment));
  }

  async #prepareLarge(deployment: Deployment): Promise<PreparedRequest> {
    return this.#begin(await prepareLargeAttempt(this.call.gateway.largeBodies, this, deployment));
  }

  /** A piece of a stream that the client does not get as one. */
  received(piece: Uint8Array): void {
    this.exchange.content?.upstreamResponse(piece);
  }

  failedWith(body: ReceivedBytes): void {
    const { content } = this.exchange;
    if (content?.hasUpstream === true) recordUpstream(content, body);
  }

  #begin({ attempt, body }: PreparedAttempt): PreparedRequest {
    this.attempt = attempt;
    this.exchange.content?.prepareUpstream(attempt.translation === null ? null : body, attempt.dialect);
    return attempt.requestWith(body);
  }
}
