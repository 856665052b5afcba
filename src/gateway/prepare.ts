import type { AttemptRecord } from "../base/attempt.ts";
import type { DialectName } from "../base/dialect.ts";
import type { JsonObject } from "../base/json.ts";
import type { ModelSettings } from "../config/settings.ts";
import type { ForwardedHeaders } from "../dialects/headers.ts";
import { type BodyChanges, patchBody } from "../dialects/json/patch.ts";
import {
  type ClientDialectName,
  clientDialect,
  type ProviderDialectName,
  providerDialect,
} from "../dialects/registry.ts";
import { translate } from "../dialects/translation/translate.ts";
import type { Translation } from "../dialects/translation/translation.ts";
import type { Deployment, GenerationPlan } from "../upstream/upstream.ts";
import type { Prepared } from "../vendors/provider.ts";
import { vendorOf } from "../vendors/registry.ts";
import type { Exchange } from "./exchange.ts";
import { ownBytes } from "./own-bytes.ts";
import type { ClientRequest } from "./request.ts";

/** What one deployment is sent, and how its answer comes back to the client's dialect. */
export interface Attempt {
  /** The one the provider is spoken to in. */
  readonly dialect: DialectName;
  readonly prepared: Prepared;
  /** Null where the provider speaks the client's dialect and the bytes pass through. */
  readonly translation: Translation | null;
  /** Fields of the request that were left out. */
  readonly dropped: readonly string[];
  /** The same where it passes through, for a provider that streams when it should not, or does not when it should. */
  reread(): Translation;
  /** The gateway asked for a usage chunk that the client did not ask for. */
  readonly hideUsage: boolean;
}

export interface GenerationParts {
  readonly exchange: Exchange;
  readonly model: ModelSettings;
  /** The key's provider scope. */
  readonly scope: string;
  readonly keyId: string;
  readonly request: ClientRequest;
  readonly dialect: DialectName;
  /** What the model's limits changed in the body. */
  readonly changes: BodyChanges;
  readonly estimatedInput: number;
}

/** What a client wants generated, as a plan for whoever asks the providers. */
export class Generation implements GenerationPlan {
  readonly model: ModelSettings;
  readonly scope: string;
  readonly keyId: string;
  readonly request: ClientRequest;
  readonly clientDialect: DialectName;
  readonly stream: boolean;
  readonly deadlineMs: number;
  readonly headers: ForwardedHeaders;
  readonly changes: BodyChanges;
  readonly estimatedInput: number;
  readonly atSeconds: number;
  /** What the deployment that was asked last was sent. */
  attempt: Attempt | null = null;
  readonly requestId: string;
  readonly #exchange: Exchange;

  constructor({ exchange, model, scope, keyId, request, dialect, changes, estimatedInput }: GenerationParts) {
    this.model = model;
    this.scope = scope;
    this.keyId = keyId;
    this.request = request;
    this.clientDialect = dialect;
    this.stream = request.stream;
    this.deadlineMs = exchange.deadlineMs;
    this.headers = clientDialect(dialect).forwardHeaders(exchange.call.request.headers);
    this.changes = changes;
    this.estimatedInput = estimatedInput;
    this.atSeconds = Math.floor(exchange.atMs / 1000);
    this.requestId = exchange.id;
    this.#exchange = exchange;
  }

  get isOver(): boolean {
    return this.#exchange.isOver;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  attemptFailed(deployment: Deployment, record: AttemptRecord): void {
    this.#exchange.attemptFailed(deployment, record);
  }

  prepare(deployment: Deployment): Prepared {
    this.attempt = prepareAttempt(this, deployment);
    return this.attempt.prepared;
  }
}

/**
 * The client's own dialect where the provider speaks it, and else the richest of those that it speaks. Stop
 * sequences go to a dialect that knows them, where there is one.
 */
export function dialectToward(
  client: ClientDialectName,
  spoken: readonly ProviderDialectName[],
  body: JsonObject,
): ProviderDialectName {
  const own = spoken.find((name) => name === client);
  if (own !== undefined) return own;
  const able = hasStopSequences(client, body) ? spoken.filter(takesStopSequences) : spoken;
  return richest(able) ?? richest(spoken) ?? client;
}

function hasStopSequences(client: ClientDialectName, body: JsonObject): boolean {
  const stops = body[clientDialect(client).fieldNames.stop];
  return typeof stops === "string" || (Array.isArray(stops) && stops.length > 0);
}

function takesStopSequences(name: ProviderDialectName): boolean {
  return providerDialect(name).takesStopSequences;
}

function richest(names: readonly ProviderDialectName[]): ProviderDialectName | undefined {
  return names.toSorted((one, other) => providerDialect(other).richness - providerDialect(one).richness)[0];
}

export function prepareAttempt(generation: Generation, deployment: Deployment): Attempt {
  const toward = dialectToward(
    generation.clientDialect,
    deployment.provider.settings.dialects,
    generation.request.outline,
  );
  return toward === generation.clientDialect
    ? passThrough(generation, deployment)
    : translated(generation, deployment, toward);
}

/** The client's own bytes, with only those spans replaced that must be. */
function passThrough(generation: Generation, deployment: Deployment): Attempt {
  const { request, clientDialect: dialect, changes, headers } = generation;
  const option = deployment.provider.settings.streamUsage ? providerDialect(dialect).usageOption : null;
  const asking = option !== null && request.stream && !option.isSet(request.outline) ? option.changes : null;
  const isRenamed = deployment.upstreamModel !== request.modelId;
  const renamed = isRenamed ? { ...changes, model: deployment.upstreamModel } : changes;
  const wanted = asking === null ? renamed : { ...renamed, ...asking };
  const { bytes, layout, dropped } = ownBytes(request, dialect, deployment);
  const body = patchBody(bytes, layout, wanted);
  request.forgetBody();
  const reread = () => translation(generation, deployment, dialect);
  return {
    dialect,
    prepared: {
      dialect,
      purpose: "generate",
      model: deployment.upstreamModel,
      stream: request.stream,
      body,
      headers,
    },
    translation: null,
    dropped,
    reread,
    hideUsage: asking !== null,
  };
}

function translated(generation: Generation, deployment: Deployment, toward: DialectName): Attempt {
  const made = translation(generation, deployment, toward);
  const prepared: Prepared = {
    dialect: toward,
    purpose: "generate",
    model: deployment.upstreamModel,
    stream: generation.stream,
    body: JSON.stringify(made.body),
    headers: generation.headers,
  };
  return {
    dialect: toward,
    prepared,
    translation: made,
    dropped: made.dropped,
    reread: () => made,
    hideUsage: false,
  };
}

function translation(generation: Generation, deployment: Deployment, toward: DialectName): Translation {
  const { request, clientDialect: dialect, changes } = generation;
  const { settings } = deployment.provider;
  const vendor = vendorOf(settings.kind);
  return translate(
    {
      dialect: clientDialect(dialect),
      body: Object.keys(changes).length === 0 ? request.body : { ...request.body, ...changes },
      model: request.modelId,
      nowSeconds: generation.atSeconds,
      estimatedInputTokens: generation.estimatedInput,
    },
    {
      dialect: providerDialect(toward),
      upstreamModel: deployment.upstreamModel,
      isStrict: vendor.strictDialects.includes(toward),
      maxOutputTokens: deployment.model.maxOutputTokens,
      maxTokensField: settings.maxTokensField,
      streamUsage: settings.streamUsage,
      capabilities: { ...vendor.capabilities, ...deployment.model.capabilities },
    },
  );
}
