import type { JsonObject } from "../../base/json.ts";
import type { Source } from "../../dialects/contract/client-dialect.ts";
import type { Target } from "../../dialects/contract/provider-dialect.ts";
import { type BodyChanges, changedBody } from "../../dialects/json/patch.ts";
import {
  type ClientDialectName,
  clientDialect,
  type ProviderDialectName,
  providerDialect,
  type SharedDialectName,
} from "../../dialects/registry.ts";
import { translate, translationOfResponse } from "../../dialects/translation/translate.ts";
import type { SerializedToolMapping, Translation } from "../../dialects/translation/translation.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { type BodyVendor, bodyVendorOf } from "../../vendors/adapt-body.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import { vendorOf } from "../../vendors/registry.ts";
import { isSearchPriced, searchesIn } from "../charge/destination-prices.ts";
import type { ClientRequest } from "../request/client-request.ts";
import type { Generation } from "./generation.ts";
import { boundCalls, boundsToSet, noBounds } from "./limit-tool-uses.ts";
import { type PassingPlan, passBody, patchJob } from "./pass-body.ts";
import { dialectToward, targetOf, translateBody, translateJob } from "./target.ts";

/** The facts about a request that translating its response needs. */
export interface ResponseContext {
  readonly client: ClientDialectName;
  readonly toward: ProviderDialectName;
  readonly source: Omit<Source, "dialect">;
  readonly target: Omit<Target, "dialect">;
  /** Null if the provider speaks the client's dialect. */
  readonly toolMapping: SerializedToolMapping | null;
}

/** The body for a provider, and the fields of the client's request that are not in it. */
export interface SentBody {
  readonly body: Uint8Array | string;
  readonly dropped: readonly string[];
}

/** A request for one deployment, and the conversion of its response to the client's dialect. */
export class Attempt {
  /** The dialect towards the provider. */
  readonly dialect: ProviderDialectName;
  readonly dropped: readonly string[];
  /** Null if the provider speaks the client's dialect, and the bytes pass through. */
  readonly translation: Translation | null;
  /** The gateway requested a usage chunk that the client did not request. */
  readonly hideUsage: boolean;
  readonly #generation: Generation;
  readonly #deployment: Deployment;

  constructor(
    generation: Generation,
    deployment: Deployment,
    dialect: ProviderDialectName,
    dropped: readonly string[],
    translation: Translation | null,
    hideUsage = false,
  ) {
    this.dialect = dialect;
    this.dropped = dropped;
    this.translation = translation;
    this.hideUsage = hideUsage;
    this.#generation = generation;
    this.#deployment = deployment;
  }

  /** The request with this body, which is not kept here: a stream lasts long after its request was sent. */
  requestWith(body: SentBody["body"]): PreparedRequest {
    const { stream, headers, trace, isCompactedUpstream } = this.#generation;
    const purpose = isCompactedUpstream ? "compact" : "generate";
    const model = this.#deployment.upstreamModel;
    return { dialect: this.dialect, purpose, model, stream, body, headers, trace };
  }

  /** A translation even where bytes pass through, for a provider that streams unasked, or does not stream when requested. */
  reread(): Translation {
    return this.translation ?? translate(this.#source(), targetOf(this.#deployment, this.dialect));
  }

  /** The translation as data, for a large response that is read on another thread. */
  responseContext(): ResponseContext {
    const { dialect: _, ...source } = this.#source();
    const { dialect: toward } = this;
    const { dialect: __, ...target } = targetOf(this.#deployment, toward);
    const toolMapping = this.translation?.serializeToolMapping() ?? null;
    return { client: this.#generation.clientDialect, toward, source, target, toolMapping };
  }

  /** With as much of the body as can be parsed on the event loop. */
  #source(): Source {
    return sourceOf(this.#generation, this.#deployment, this.#generation.request.quickBody);
  }
}

function sourceOf(generation: Generation, deployment: Deployment, body: JsonObject): Source {
  const { model, clientDialect: dialect, keeping } = generation;
  const changes = generation.changesAt(deployment);
  return {
    dialect: clientDialect(dialect),
    body: Object.keys(changes).length === 0 ? body : changedBody(body, changes),
    model: model.id,
    nowSeconds: generation.atSeconds,
    estimatedInputTokens: generation.estimatedInput.tokens,
    kept: keeping === null ? undefined : { parentId: keeping.parentId, isStored: keeping.isStored },
  };
}

/** An attempt, and the body to send. */
export interface PreparedAttempt {
  readonly attempt: Attempt;
  readonly body: SentBody["body"];
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

async function translatedAttempt(
  generation: Generation,
  deployment: Deployment,
  toward: ProviderDialectName,
  sendsSignatures: boolean,
): Promise<PreparedAttempt> {
  const { request } = generation;
  const target = targetFor(generation, deployment, toward, sendsSignatures);
  const vendor = bodyVendor(generation, deployment, toward);
  const { body, dropped, translation } = request.isLarge
    ? await translateLarge(generation, deployment, target, vendor, toward)
    : translateBody(sourceOf(generation, deployment, request.body), target, vendor);
  const named = withBetas(dropped, generation);
  return { attempt: new Attempt(generation, deployment, toward, named, translation), body };
}

async function translateLarge(
  generation: Generation,
  deployment: Deployment,
  { dialect: _, ...target }: Target,
  vendor: BodyVendor | null,
  toward: ProviderDialectName,
) {
  const { request, clientDialect: client, call } = generation;
  const { bytes } = request;
  const { body: truncated, dialect: __, ...source } = sourceOf(generation, deployment, request.truncated);
  const changes = generation.changesAt(deployment);
  const input = { bytes, changes, client, toward, source, target, vendor };
  const { toolMapping, body, dropped } = await call.gateway.largeBodies.runRequest(translateJob, input, call);
  request.forgetBody();
  const whole = sourceOf(generation, deployment, truncated);
  const translation = translationOfResponse(whole, targetOf(deployment, toward), toolMapping, dropped);
  return { body, dropped, translation };
}

/** A dialect's betas mean nothing in another. */
function withBetas(
  dropped: readonly string[],
  { clientDialect: name, headers }: Generation,
): readonly string[] {
  const { betaHeader } = clientDialect(name);
  return betaHeader !== null && (headers[betaHeader] ?? "") !== "" ? [...dropped, betaHeader] : dropped;
}

function passingPlan(
  generation: Generation,
  deployment: Deployment,
  dialect: SharedDialectName,
  sendsSignatures: boolean,
): PassingPlan {
  const kept = rejectsForeignReasoning(dialect, deployment) ? "foreign" : "none";
  return {
    dialect,
    stripped: sendsSignatures ? kept : "signed",
    changes: wantedChanges(generation, deployment, dialect),
    toolBounds: clientDialect(dialect).callLimit === "tool" ? boundsToSet(generation.request) : noBounds,
    vendor: bodyVendor(generation, deployment, dialect),
  };
}

/** Only vendors reject foreign reasoning. A compatible provider may be another Sluice, which reads envelopes itself. */
function rejectsForeignReasoning(dialect: SharedDialectName, { provider }: Deployment): boolean {
  return vendorOf(provider.settings.kind).strictDialects.includes(dialect);
}

function wantedChanges(
  generation: Generation,
  deployment: Deployment,
  dialect: SharedDialectName,
): BodyChanges {
  const { request, limit } = generation;
  const own = generation.changesAt(deployment);
  const limited = limit.passthrough === undefined ? own : { ...own, ...limit.passthrough.changes };
  const known = request.nullRemovals === null ? limited : { ...request.nullRemovals, ...limited };
  const isStateless = generation.keeping !== null && !generation.keeping.isProviders;
  const changes = isStateless ? { ...known, ...stateless(generation, deployment, dialect) } : known;
  const isBounded = clientDialect(dialect).callLimit === "request" && request.tools.hosted.length > 0;
  const bounded = isBounded ? { ...changes, ...boundCalls(request) } : changes;
  const renamed = renaming(bounded, dialect, request, deployment);
  const asking =
    askingForUsage(generation, deployment, dialect) ?? withoutUsageOption(generation, deployment);
  return asking === null ? renamed : { ...renamed, ...asking };
}

const withoutPath: BodyChanges = { model: undefined, stream: undefined };

/** The provider's name for the model, or none where the path has it. */
function renaming(
  changes: BodyChanges,
  dialect: SharedDialectName,
  { modelId }: ClientRequest,
  { upstreamModel }: Deployment,
): BodyChanges {
  if (clientDialect(dialect).inPath !== undefined) return { ...changes, ...withoutPath };
  return upstreamModel === modelId ? changes : { ...changes, model: upstreamModel };
}

/** Asks the provider not to store what the gateway stores. */
function stateless({ request }: Generation, { model }: Deployment, dialect: SharedDialectName): BodyChanges {
  const mayReason = model.capabilities["reasoning"] !== false;
  return clientDialect(dialect).statelessChanges?.(request.truncated, mayReason) ?? {};
}

interface AskingRequest {
  readonly request: Pick<ClientRequest, "stream" | "truncated">;
}

/** Drops `stream_options` for a provider that rejects it and reports the usage of its streams anyway. */
export function withoutUsageOption({ request }: AskingRequest, { provider }: Deployment): BodyChanges | null {
  const isRefused = !provider.settings.streamUsage && request.truncated["stream_options"] !== undefined;
  return isRefused ? { stream_options: undefined } : null;
}

/** The change that makes a provider report a stream's usage; null if the client requests it itself. */
export function askingForUsage(
  { request }: AskingRequest,
  deployment: Deployment,
  dialect: SharedDialectName,
): BodyChanges | null {
  const { streamUsage } = deployment.provider.settings;
  const option = (streamUsage ? providerDialect(dialect).passthrough?.usageOption : null) ?? null;
  return option !== null && request.stream && !option.isSet(request.truncated)
    ? option.changes(request.truncated)
    : null;
}

async function passingAttempt(
  generation: Generation,
  deployment: Deployment,
  dialect: SharedDialectName,
  sendsSignatures: boolean,
): Promise<PreparedAttempt> {
  const { limit, headers, request, call } = generation;
  const { bytes, spans } = request;
  const plan = passingPlan(generation, deployment, dialect, sendsSignatures);
  const { body, dropped } = request.isLarge
    ? await call.gateway.largeBodies.runRequest(patchJob, { bytes, spans, plan }, call)
    : passBody(request, plan);
  const { kind, options } = deployment.provider.settings;
  const hidesUsage = askingForUsage(generation, deployment, dialect) !== null;
  request.forgetBody();
  const limited = limit.passthrough === undefined ? dropped : [...limit.passthrough.dropped, ...dropped];
  const leftOut = vendorOf(kind).droppedHeaders?.(dialect, headers, options) ?? [];
  const allDropped = leftOut.length === 0 ? limited : [...limited, ...leftOut];
  return { attempt: new Attempt(generation, deployment, dialect, allDropped, null, hidesUsage), body };
}

function bodyVendor(
  { headers }: Generation,
  { provider, upstreamModel, family }: Deployment,
  dialect: ProviderDialectName,
): BodyVendor | null {
  return bodyVendorOf(provider.settings, dialect, family ?? upstreamModel, headers);
}

function targetFor(
  { webSearches }: Generation,
  deployment: Deployment,
  toward: ProviderDialectName,
  sendsSignatures: boolean,
): Target {
  const usual = targetOf(deployment, toward);
  const target = sendsSignatures ? usual : { ...usual, rejectsSignatures: true as const };
  return webSearches > 0 && maySearch(deployment, toward) ? { ...target, webSearches } : target;
}

function maySearch(deployment: Deployment, toward: ProviderDialectName): boolean {
  const { provider, model } = deployment;
  return searchesIn(provider.settings.kind, toward) && isSearchPriced(deployment, model);
}
