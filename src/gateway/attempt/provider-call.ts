import { assert } from "../../base/assert.ts";
import type { JsonObject } from "../../base/json.ts";
import type { InputEstimate } from "../../catalog/estimate.ts";
import type { ModelSettings } from "../../config/settings.ts";
import {
  type ClientDialectName,
  clientDialect,
  isSpoken,
  type ProviderDialectName,
  providerDialect,
} from "../../dialects/registry.ts";
import type { Deployment, FailedAttempt, GenerationPlan, ReceivedBytes } from "../../upstream/upstream.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import { paceRequest } from "../body-worker/request-pacer.ts";
import type { CostMeter } from "../charge/cost-meter.ts";
import { holdForModel, type WantedHold } from "../charge/hold.ts";
import { recordUpstream } from "../exchange/content.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { conversationHash } from "../request/labels.ts";
import type { RoutedCall } from "../request/route.ts";
import type { Attempt, Generation, PreparedAttempt } from "./generation.ts";
import { passingAttempt } from "./passing.ts";
import { translatedAttempt } from "./translating.ts";

/** The part of a call to providers that follows from its request. */
export abstract class ProviderCall {
  readonly call: RoutedCall;
  readonly meter: CostMeter;
  readonly wanted: WantedHold;
  /** Models that a limit keeps from running. */
  readonly #denied = new Set<ModelSettings>();

  constructor(call: RoutedCall, meter: CostMeter, wanted: WantedHold) {
    this.call = call;
    this.meter = meter;
    this.wanted = wanted;
  }

  get model(): ModelSettings {
    return this.call.model;
  }

  get scope(): string {
    return this.call.scope;
  }

  get credential(): string | null {
    return this.call.credential;
  }

  get keyId(): string {
    return this.call.keyId;
  }

  protected get exchange(): Exchange {
    return this.call.exchange;
  }

  get requestId(): string {
    return this.exchange.id;
  }

  /** No provider is waited for beyond it. */
  get deadlineMs(): number {
    const { startedMs, timeoutMs } = this.exchange;
    return startedMs + (timeoutMs ?? this.model.requestTimeoutMs);
  }

  get isOver(): boolean {
    return this.exchange.isOver;
  }

  get signal(): AbortSignal {
    return this.exchange.signal;
  }

  awaitMemory(bytes: number): Promise<void> {
    return this.call.awaitMemory(bytes);
  }

  attemptFailed(...failed: FailedAttempt): void {
    this.exchange.attempts.addFailed(...failed);
  }

  /** The former hold stays where a limit denies the one for this model. */
  async mayRun(model: ModelSettings): Promise<boolean> {
    if (model === this.exchange.runningModel) return true;
    if (this.#denied.has(model)) return false;
    const error = await holdForModel(this.call.gateway, this.meter, this.wanted, model);
    if (error === null) return true;
    this.#denied.add(model);
    this.exchange.attempts.addDenied(model.id, error);
    return false;
  }

  redactRequestText(message: string): string {
    return this.exchange.redactRequestText(message);
  }
}

/** Calls providers for a generation, attempt after attempt. */
export class GenerationCall extends ProviderCall implements GenerationPlan {
  readonly generation: Generation;
  /** The last attempt. */
  attempt: Attempt | null = null;
  /** Whether reasoning of earlier turns is sent with its signature. */
  #sendsSignatures = true;
  #conversation: number | null = null;

  constructor(generation: Generation, meter: CostMeter) {
    super(generation.call, meter, generation.wanted);
    this.generation = generation;
  }

  get request(): ClientRequest {
    return this.generation.request;
  }

  get estimatedInput(): InputEstimate {
    return this.generation.estimatedInput;
  }

  get clientDialect(): ClientDialectName {
    return this.generation.clientDialect;
  }

  get stream(): boolean {
    return this.generation.stream;
  }

  get conversation(): number | null {
    if (this.model.affinity === "none") return null;
    this.#conversation ??= conversationHash(this.keyId, this.call.session, this.request);
    return this.#conversation;
  }

  async prepare(deployment: Deployment): Promise<PreparedRequest> {
    // Before the first attempt it was paced with the choice of a deployment.
    if (this.attempt !== null) await paceRequest(this.request.bytes);
    const { attempt, body } = await prepareAttempt(this.generation, deployment, this.#sendsSignatures);
    this.attempt = attempt;
    this.exchange.taken.content?.prepareUpstream(attempt.translation === null ? null : body, attempt.dialect);
    return attempt.requestWith(body);
  }

  dropSignatures(): boolean {
    const { stripSignedReasoning: strip } = clientDialect(this.clientDialect);
    const { truncated } = this.request;
    const mayLeaveOut = this.#sendsSignatures && strip !== null && strip(truncated) !== truncated;
    if (mayLeaveOut) this.#sendsSignatures = false;
    return mayLeaveOut;
  }

  failedWith(body: ReceivedBytes): void {
    const { content } = this.exchange.taken;
    if (content?.hasUpstream === true) recordUpstream(content, body);
  }
}

/** A large request is prepared on another thread. Rejects if it cannot be translated. */
export async function prepareAttempt(
  generation: Generation,
  deployment: Deployment,
  sendsSignatures: boolean,
): Promise<PreparedAttempt> {
  const toward = dialectToward(generation.clientDialect, deployment.dialects, generation.request.truncated);
  return toward === generation.clientDialect
    ? passingAttempt(generation, deployment, toward, sendsSignatures)
    : translatedAttempt(generation, deployment, toward, sendsSignatures);
}

/**
 * The client's own dialect if the provider speaks it, else the richest one that it speaks. A request with stop
 * sequences prefers a dialect that has them.
 */
export function dialectToward(
  client: ClientDialectName,
  spoken: readonly ProviderDialectName[],
  body: JsonObject,
): ProviderDialectName {
  return isSpoken(client, spoken) ? client : richestToward(client, spoken, body);
}

function richestToward(
  client: ClientDialectName,
  spoken: readonly ProviderDialectName[],
  body: JsonObject,
): ProviderDialectName {
  const able = hasStopSequences(client, body) ? spoken.filter(takesStopSequences) : spoken;
  const found = richest(able) ?? richest(spoken);
  assert(found !== undefined, "every provider speaks some dialect");
  return found;
}

function hasStopSequences(client: ClientDialectName, body: JsonObject): boolean {
  const { readStops, fieldNames } = clientDialect(client);
  const stops = readStops === undefined ? body[fieldNames.stop] : readStops(body);
  return typeof stops === "string" || (Array.isArray(stops) && stops.length > 0);
}

function takesStopSequences(name: ProviderDialectName): boolean {
  return providerDialect(name).takesStopSequences;
}

function richest(names: readonly ProviderDialectName[]): ProviderDialectName | undefined {
  let found = names[0];
  for (const name of names) {
    if (found !== undefined && providerDialect(name).richness > providerDialect(found).richness) found = name;
  }
  return found;
}
