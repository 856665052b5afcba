import { assert } from "../../base/assert.ts";
import type { JsonObject } from "../../base/json.ts";
import type { InputEstimate } from "../../catalog/estimate.ts";
import type { Source } from "../../dialects/client-dialect.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import { type BodyChanges, patchBody } from "../../dialects/json/patch.ts";
import type { OutputLimit } from "../../dialects/output-limit.ts";
import type { Target } from "../../dialects/provider-dialect.ts";
import {
  type ClientDialectName,
  clientDialect,
  type ProviderDialectName,
  providerDialect,
  type SharedDialectName,
} from "../../dialects/registry.ts";
import { translate, translationOfAnswer } from "../../dialects/translation/translate.ts";
import type { SerializedToolMapping, Translation } from "../../dialects/translation/translation.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { adaptBytes, adaptObject, type BodyVendor, bodyVendorOf } from "../../vendors/adapt-body.ts";
import type { Prepared } from "../../vendors/provider.ts";
import { vendorOf } from "../../vendors/registry.ts";
import type { AnswerContext, JobOwner } from "../large/jobs.ts";
import type { LargeBodies } from "../large/large-bodies.ts";
import type { ClientRequest } from "../request/request.ts";
import { dialectToward } from "./dialect-toward.ts";
import { rejectsForeignReasoning, type StrippedReasoning, stripBody } from "./strip-foreign-reasoning.ts";
import { targetOf } from "./target.ts";

/** The parts of a generation that its attempts are prepared from. */
interface PreparableRequest {
  readonly request: ClientRequest;
  readonly model: { readonly id: string };
  readonly clientDialect: ClientDialectName;
  readonly stream: boolean;
  readonly headers: ForwardedHeaders;
  readonly trace: ForwardedHeaders | null;
  /** What the model's limits change in the body. */
  readonly limit: OutputLimit;
  readonly estimatedInput: InputEstimate;
  readonly atSeconds: number;
  readonly sendsProofs: boolean;
}

/** A request for one deployment, and how its answer gets back to the client's dialect. */
export type Attempt = PassingAttempt | TranslatedAttempt;

/** The provider speaks the client's dialect, and the bytes pass through. */
interface PassingAttempt extends PreparedAttempt {
  readonly dialect: SharedDialectName;
  readonly translation: null;
}

interface TranslatedAttempt extends PreparedAttempt {
  /** The dialect towards the provider. */
  readonly dialect: ProviderDialectName;
  readonly translation: Translation;
}

interface PreparedAttempt {
  readonly prepared: Prepared;
  /** Fields of the request that were dropped. */
  readonly dropped: readonly string[];
  /** A translation even where bytes pass through, for a provider that streams unasked, or was asked and does not. */
  reread(): Translation;
  /** The same as data, for a large answer that is read on another thread. */
  answerContext(): AnswerContext;
  /** The gateway asked for a usage chunk that the client did not ask for. */
  readonly hideUsage: boolean;
}

export function prepareAttempt(generation: PreparableRequest, deployment: Deployment): Attempt {
  const toward = dialectFor(generation, deployment);
  return toward === generation.clientDialect
    ? passThrough(generation, deployment, toward)
    : translated(generation, deployment, toward);
}

/** The same on another thread. */
export async function prepareLargeAttempt(
  largeBodies: LargeBodies,
  generation: PreparableRequest & JobOwner,
  deployment: Deployment,
): Promise<Attempt> {
  const { request, clientDialect: client, limit } = generation;
  const { bytes, spans } = request;
  const toward = dialectFor(generation, deployment);
  if (toward === client) {
    const wanted = wantedChanges(generation, deployment, toward);
    const stripped = strippedFor(generation, deployment, toward);
    const vendor = vendorOfBody(generation, deployment, toward);
    const job = {
      type: "patch",
      bytes,
      spans,
      dialect: client,
      stripped,
      changes: wanted,
      vendor,
    } as const;
    return passthroughAttempt(generation, deployment, toward, await largeBodies.runRequest(job, generation));
  }
  const { body: truncated, dialect: _, ...source } = sourceOf(generation, request.truncated);
  const { dialect: __, ...target } = targetFor(generation, deployment, toward);
  const vendor = vendorOfBody(generation, deployment, toward);
  const job = {
    type: "translate",
    bytes,
    changes: limit.changes,
    client,
    toward,
    source,
    target,
    vendor,
  } as const;
  const { body, dropped, toolMapping } = await largeBodies.runRequest(job, generation);
  assert(toolMapping !== null, "a translated request brings what reading its answer needs");
  request.forgetBody();
  const whole = sourceOf(generation, truncated);
  const made = translationOfAnswer(whole, targetOf(deployment, toward), toolMapping, dropped);
  return translatedAttempt(generation, deployment, toward, { body, dropped }, made);
}

function dialectFor(
  { clientDialect, request }: PreparableRequest,
  deployment: Deployment,
): ProviderDialectName {
  return dialectToward(clientDialect, deployment.dialects, request.truncated);
}

/** The client's own bytes, with only the necessary spans replaced. */
function passThrough(
  generation: PreparableRequest,
  deployment: Deployment,
  dialect: SharedDialectName,
): Attempt {
  const { request } = generation;
  const wanted = wantedChanges(generation, deployment, dialect);
  const stripped = strippedFor(generation, deployment, dialect);
  const { bytes, spans, changes, dropped } = stripBody(request, dialect, stripped, wanted);
  const vendor = vendorOfBody(generation, deployment, dialect);
  return passthroughAttempt(
    generation,
    deployment,
    dialect,
    adaptBytes(patchBody(bytes, spans, changes), vendor, dropped),
  );
}

function strippedFor(
  { sendsProofs }: PreparableRequest,
  deployment: Deployment,
  dialect: SharedDialectName,
): StrippedReasoning {
  if (!sendsProofs) return "proven";
  return rejectsForeignReasoning(dialect, deployment) ? "foreign" : "none";
}

function wantedChanges(
  generation: PreparableRequest,
  deployment: Deployment,
  dialect: SharedDialectName,
): BodyChanges {
  const { request, limit } = generation;
  const limited =
    limit.passthrough === undefined ? limit.changes : { ...limit.changes, ...limit.passthrough.changes };
  const changes = request.nullRemovals === null ? limited : { ...request.nullRemovals, ...limited };
  const isRenamed = deployment.upstreamModel !== request.modelId;
  const renamed = isRenamed ? { ...changes, model: deployment.upstreamModel } : changes;
  const asking =
    askingForUsage(generation, deployment, dialect) ?? withoutUsageOption(generation, deployment);
  return asking === null ? renamed : { ...renamed, ...asking };
}

/** What a client asks of a provider that refuses the question, and reports the usage of its streams anyway. */
function withoutUsageOption({ request }: PreparableRequest, { provider }: Deployment): BodyChanges | null {
  const isRefused = !provider.settings.streamUsage && request.truncated["stream_options"] !== undefined;
  return isRefused ? { stream_options: undefined } : null;
}

/** The change that makes a provider report a stream's usage; null if the client asks for it itself. */
function askingForUsage(
  { request }: PreparableRequest,
  deployment: Deployment,
  dialect: SharedDialectName,
): BodyChanges | null {
  const { streamUsage } = deployment.provider.settings;
  const option = (streamUsage ? providerDialect(dialect).passthrough?.usageOption : null) ?? null;
  return option !== null && request.stream && !option.isSet(request.truncated) ? option.changes : null;
}

function passthroughAttempt(
  generation: PreparableRequest,
  deployment: Deployment,
  dialect: SharedDialectName,
  { body, dropped }: { readonly body: Uint8Array; readonly dropped: readonly string[] },
): Attempt {
  const { limit, headers } = generation;
  const { kind, options } = deployment.provider.settings;
  generation.request.forgetBody();
  const limited = limit.passthrough === undefined ? dropped : [...limit.passthrough.dropped, ...dropped];
  const leftOut = vendorOf(kind).leftOut?.(dialect, headers, options) ?? [];
  const allDropped = leftOut.length === 0 ? limited : [...limited, ...leftOut];
  return new PassthroughAttempt(generation, deployment, dialect, body, allDropped);
}

class PassthroughAttempt implements PassingAttempt {
  readonly dialect: SharedDialectName;
  readonly prepared: Prepared;
  readonly translation = null;
  readonly dropped: readonly string[];
  readonly hideUsage: boolean;
  readonly #generation: PreparableRequest;
  readonly #deployment: Deployment;

  constructor(
    generation: PreparableRequest,
    deployment: Deployment,
    dialect: SharedDialectName,
    body: Uint8Array,
    dropped: readonly string[],
  ) {
    this.dialect = dialect;
    this.prepared = preparedFor(generation, deployment, this.dialect, body);
    this.dropped = dropped;
    this.hideUsage = askingForUsage(generation, deployment, dialect) !== null;
    this.#generation = generation;
    this.#deployment = deployment;
  }

  reread(): Translation {
    const source = sourceOf(this.#generation, readableBody(this.#generation.request));
    return translate(source, targetOf(this.#deployment, this.dialect));
  }

  answerContext(): AnswerContext {
    return answerContextOf(this.#generation, this.#deployment, this.dialect, null);
  }
}

function translated(
  generation: PreparableRequest,
  deployment: Deployment,
  toward: ProviderDialectName,
): Attempt {
  const source = sourceOf(generation, generation.request.body);
  const made = translate(source, targetFor(generation, deployment, toward));
  const vendor = vendorOfBody(generation, deployment, toward);
  const { body, dropped } = adaptObject(made.body, vendor, made.dropped);
  return translatedAttempt(generation, deployment, toward, { body: JSON.stringify(body), dropped }, made);
}

function vendorOfBody(
  { headers }: PreparableRequest,
  { provider, upstreamModel, family }: Deployment,
  dialect: ProviderDialectName,
): BodyVendor | null {
  return bodyVendorOf(provider.settings, dialect, family ?? upstreamModel, headers);
}

function translatedAttempt(
  generation: PreparableRequest,
  deployment: Deployment,
  toward: ProviderDialectName,
  { body, dropped }: { readonly body: Uint8Array | string; readonly dropped: readonly string[] },
  made: Translation,
): Attempt {
  return {
    dialect: toward,
    prepared: preparedFor(generation, deployment, toward, body),
    translation: made,
    dropped,
    reread: () => made,
    answerContext: () => answerContextOf(generation, deployment, toward, made.serializeToolMapping()),
    hideUsage: false,
  };
}

function answerContextOf(
  generation: PreparableRequest,
  deployment: Deployment,
  toward: ProviderDialectName,
  toolMapping: SerializedToolMapping | null,
): AnswerContext {
  const { request, clientDialect: client } = generation;
  const { dialect: _, ...source } = sourceOf(generation, readableBody(request));
  const { dialect: __, ...target } = targetOf(deployment, toward);
  return { client, toward, source, target, toolMapping };
}

/** As much of the body as may be parsed on the event loop. */
function readableBody(request: ClientRequest): JsonObject {
  return request.large === null ? request.body : request.truncated;
}

function preparedFor(
  { stream, headers, trace }: PreparableRequest,
  { upstreamModel: model }: Deployment,
  dialect: ProviderDialectName,
  body: Uint8Array | string,
): Prepared {
  return { dialect, purpose: "generate", model, stream, body, headers, trace };
}

function sourceOf(generation: PreparableRequest, body: JsonObject): Source {
  const { model, clientDialect: dialect, limit } = generation;
  const { changes } = limit;
  return {
    dialect: clientDialect(dialect),
    body: Object.keys(changes).length === 0 ? body : { ...body, ...changes },
    model: model.id,
    nowSeconds: generation.atSeconds,
    estimatedInputTokens: generation.estimatedInput.tokens,
  };
}

function targetFor(
  { sendsProofs }: PreparableRequest,
  deployment: Deployment,
  toward: ProviderDialectName,
): Target {
  const target = targetOf(deployment, toward);
  return sendsProofs ? target : { ...target, refusesProofs: true };
}
