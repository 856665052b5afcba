import type { JsonObject } from "../../base/json.ts";
import { traceHeaders } from "../../base/requests/trace-context.ts";
import { type InputEstimate, maxInputTokens } from "../../catalog/estimate.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { Source } from "../../dialects/contract/client-dialect.ts";
import type { OutputLimit } from "../../dialects/contract/output-limit.ts";
import type { Target } from "../../dialects/contract/provider-dialect.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import { type BodyChanges, changedBody } from "../../dialects/json/patch.ts";
import {
  type ClientDialectName,
  clientDialect,
  type ProviderDialectName,
  providerDialect,
} from "../../dialects/registry.ts";
import { translate } from "../../dialects/translation/translate.ts";
import type { SerializedToolMapping, Translation } from "../../dialects/translation/translation.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { type BodyVendor, bodyVendorOf } from "../../vendors/adapt-body.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import { vendorOf } from "../../vendors/registry.ts";
import { type RequestedExtras, tierOfLine } from "../charge/extras.ts";
import type { WantedHold } from "../charge/hold.ts";
import type { ClientRequest } from "../request/client-request.ts";
import type { RoutedCall } from "../request/route.ts";

/** A request within the limits of its model, and what it may cost in addition to its tokens. */
export interface GenerationTerms {
  /** Changes to the body because of the model's limits. */
  readonly limit: OutputLimit;
  readonly estimatedInput: InputEstimate;
  readonly extras: RequestedExtras | null;
}

/** A generation request, independent of the provider. Immutable. */
export class Generation implements GenerationTerms {
  readonly call: RoutedCall;
  readonly model: ModelSettings;
  /** The request as it is sent: without tools that have no price. */
  readonly request: ClientRequest;
  readonly clientDialect: ClientDialectName;
  readonly stream: boolean;
  readonly headers: ForwardedHeaders;
  readonly trace: ForwardedHeaders | null;
  readonly limit: OutputLimit;
  readonly estimatedInput: InputEstimate;
  readonly extras: RequestedExtras | null;
  readonly atSeconds: number;

  constructor(call: RoutedCall, request: ClientRequest, { limit, estimatedInput, extras }: GenerationTerms) {
    const { exchange, dialect } = call;
    this.call = call;
    this.model = call.model;
    this.request = request;
    this.clientDialect = dialect;
    this.stream = request.stream;
    this.headers = clientDialect(dialect).forwardHeaders(exchange.call.request.headers);
    this.trace = exchange.trace === null ? null : traceHeaders(exchange.trace);
    this.limit = limit;
    this.estimatedInput = estimatedInput;
    this.extras = extras;
    this.atSeconds = Math.floor(exchange.atMs / 1000);
  }

  /** The hold that it needs. */
  get wanted(): WantedHold {
    const { model, request, limit, estimatedInput, extras } = this;
    const { key, storedInput, requestedModel } = this.call;
    const input = maxInputTokens(estimatedInput, model.contextWindow) + storedInput;
    return {
      key,
      model,
      requestedModel,
      extras,
      atMost: { input, output: limit.maxOutputTokens },
      usual: { input: estimatedInput.tokens + storedInput, output: limit.maxOutputTokens },
      storedInput,
      requestBytes: request.bytes,
      canBeCounted: estimatedInput.unmeasured === 0,
    };
  }

  /** Changes to the body for every provider of this model: its limits, and the tier of a line. */
  changesAt({ model }: Pick<Deployment, "model">): BodyChanges {
    const { changes } = this.limit;
    const tier = this.extras === null ? null : tierOfLine(this.extras, model);
    return tier === null ? changes : { ...changes, service_tier: tier };
  }

  /** Whether the provider should store the response, so that a later request can refer to it by its id. */
  get isStoredUpstream(): boolean {
    const { request, clientDialect: dialect } = this;
    const { keeping } = this.call.turn;
    if (clientDialect(dialect).statelessChanges === undefined) return request.isThreaded;
    return keeping === null ? request.mayStore : keeping.isProviders;
  }

  /** Maximum web searches that a provider can run if it does not speak the client's dialect. */
  get webSearches(): number {
    return this.extras?.webSearches ?? 0;
  }

  /** How the vendor of the deployment takes a body in this dialect; null for the usual way. */
  bodyVendorAt(
    { provider, upstreamModel, family }: Deployment,
    dialect: ProviderDialectName,
  ): BodyVendor | null {
    return bodyVendorOf(provider.settings, dialect, family ?? upstreamModel, this.headers);
  }
}

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
    const { stream, headers, trace, call } = this.#generation;
    const purpose = call.turn.isCompactedUpstream ? "compact" : "generate";
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

/** An attempt, and the body to send. */
export interface PreparedAttempt {
  readonly attempt: Attempt;
  readonly body: SentBody["body"];
}

/** The request as a translation reads it, with what changes at this deployment. */
export function sourceOf(generation: Generation, deployment: Deployment, body: JsonObject): Source {
  const { model, clientDialect: dialect, call } = generation;
  const { keeping } = call.turn;
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

/** The facts about a deployment that a translation needs. */
export function targetOf(deployment: Deployment, toward: ProviderDialectName): Target {
  const { settings } = deployment.provider;
  const vendor = vendorOf(settings.kind);
  const traits = vendor.modelTraits?.(deployment.family ?? deployment.upstreamModel);
  return {
    dialect: providerDialect(toward),
    upstreamModel: deployment.upstreamModel,
    family: deployment.family ?? undefined,
    provider: settings.name,
    isStrict: traits?.isStrict ?? vendor.strictDialects.includes(toward),
    maxOutputTokens: deployment.model.maxOutputTokens,
    maxTokensField: deployment.maxTokensField,
    quirks: settings.quirks.length > 0 ? settings.quirks : traits?.quirks,
    streamUsage: settings.streamUsage,
    marksCache: deployment.model.cache === "auto",
    capabilities: { ...vendor.capabilities, ...deployment.model.capabilities },
    ...(vendor.requestFields === undefined ? {} : { fields: vendor.requestFields(settings.options, toward) }),
  };
}
