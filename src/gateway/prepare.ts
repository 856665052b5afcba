import type { AttemptRecord } from "../base/attempt.ts";
import type { DialectName } from "../base/dialect.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import type { ModelSettings } from "../config/settings.ts";
import { type BodyChanges, patchBody } from "../dialects/json/patch.ts";
import { clientDialect, providerDialect } from "../dialects/registry.ts";
import { translate } from "../dialects/translation/translate.ts";
import type { Translation } from "../dialects/translation/translation.ts";
import { pickForwarded } from "../providers/headers.ts";
import type { ForwardedHeaders, Prepared } from "../providers/provider.ts";
import type { Deployment, GenerationPlan } from "../upstream/upstream.ts";
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
    this.headers = pickForwarded(dialect, exchange.call.request.headers);
    this.changes = changes;
    this.estimatedInput = estimatedInput;
    this.atSeconds = Math.floor(exchange.atMs / 1000);
    this.requestId = exchange.id;
    this.#exchange = exchange;
  }

  /** Made by the server when it is first asked for, which a call that is over soon need not do. */
  get signal(): AbortSignal {
    return this.#exchange.call.request.signal;
  }

  attemptFailed(deployment: Deployment, record: AttemptRecord): void {
    this.#exchange.attemptFailed(deployment, record);
  }

  prepare(deployment: Deployment): Prepared {
    this.attempt = prepareAttempt(this, deployment);
    return this.attempt.prepared;
  }
}

/** From the richest: what one dialect cannot say is lost on the way to it. */
const byRichness: readonly DialectName[] = ["responses", "messages", "chat"];

/** Responses knows no stop sequences, so where they are asked for and there is chat as well, chat it is. */
export function dialectToward(
  client: DialectName,
  spoken: readonly DialectName[],
  body: JsonObject,
): DialectName {
  if (spoken.includes(client)) return client;
  const stops = body["stop_sequences"];
  if (Array.isArray(stops) && stops.length > 0 && spoken.includes("chat")) return "chat";
  return byRichness.find((dialect) => spoken.includes(dialect)) ?? client;
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
  const wantsUsage = dialect === "chat" && request.stream && deployment.provider.settings.streamUsage;
  const asksItself = wantsUsage && asksForUsage(request);
  const askForIt = wantsUsage && !asksItself;
  const isRenamed = deployment.upstreamModel !== request.modelId;
  const renamed = isRenamed ? { ...changes, model: deployment.upstreamModel } : changes;
  const wanted = askForIt ? { ...renamed, "stream_options.include_usage": true } : renamed;
  const { bytes, layout, dropped } = ownBytes(request, dialect, deployment);
  const body = patchBody(bytes, layout, wanted);
  request.forgetBody();
  const reread = () => translation(generation, deployment, dialect);
  return {
    dialect,
    prepared: { operation: dialect, body, headers },
    translation: null,
    dropped,
    reread,
    hideUsage: askForIt,
  };
}

function asksForUsage({ outline }: ClientRequest): boolean {
  const options = outline["stream_options"];
  return isObject(options) && options["include_usage"] === true;
}

function translated(generation: Generation, deployment: Deployment, toward: DialectName): Attempt {
  const made = translation(generation, deployment, toward);
  const prepared = { operation: toward, body: JSON.stringify(made.body), headers: generation.headers };
  return {
    dialect: toward,
    prepared,
    translation: made,
    dropped: made.dropped,
    reread: () => made,
    hideUsage: false,
  };
}

const demoCapabilities = { reasoning: true, effort_none: true, structured_output: true };

function translation(generation: Generation, deployment: Deployment, toward: DialectName): Translation {
  const { request, clientDialect: dialect, changes } = generation;
  const { settings } = deployment.provider;
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
      isStrict: settings.kind === (toward === "messages" ? "anthropic" : "openai"),
      maxOutputTokens: deployment.model.maxOutputTokens,
      maxTokensField: settings.maxTokensField,
      streamUsage: settings.streamUsage,
      capabilities:
        settings.kind === "demo"
          ? { ...demoCapabilities, ...deployment.model.capabilities }
          : deployment.model.capabilities,
    },
  );
}
