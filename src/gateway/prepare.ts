import type { DialectName } from "../base/dialect.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import type { Translation } from "../dialects/codec.ts";
import { type BodyChanges, patchBody } from "../dialects/patch.ts";
import { translate } from "../dialects/translate.ts";
import type { ForwardedHeaders, Prepared } from "../providers/provider.ts";
import type { Deployment } from "../upstream/upstream.ts";
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

export interface Generation {
  readonly request: ClientRequest;
  readonly dialect: DialectName;
  readonly headers: ForwardedHeaders;
  /** What the model's limits changed in the body. */
  readonly changes: BodyChanges;
  readonly estimatedInput: number;
  readonly atSeconds: number;
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
    generation.dialect,
    deployment.provider.settings.dialects,
    generation.request.outline,
  );
  return toward === generation.dialect
    ? passThrough(generation, deployment)
    : translated(generation, deployment, toward);
}

/** The client's own bytes, with only those spans replaced that must be. */
function passThrough(generation: Generation, deployment: Deployment): Attempt {
  const { request, dialect, changes, headers } = generation;
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

function translation(generation: Generation, deployment: Deployment, toward: DialectName): Translation {
  const { request, dialect, changes } = generation;
  const { settings } = deployment.provider;
  return translate(
    {
      dialect,
      body: Object.keys(changes).length === 0 ? request.body : { ...request.body, ...changes },
      model: request.modelId,
      nowSeconds: generation.atSeconds,
      estimatedInputTokens: generation.estimatedInput,
    },
    {
      dialect: toward,
      upstreamModel: deployment.upstreamModel,
      kind: settings.kind,
      maxOutputTokens: deployment.model.maxOutputTokens,
      maxTokensField: settings.maxTokensField,
      streamUsage: settings.streamUsage,
      capabilities: deployment.model.capabilities,
    },
  );
}
