import type { JsonObject } from "../../base/json.ts";
import type { Source } from "../../dialects/client-dialect.ts";
import type { Target } from "../../dialects/provider-dialect.ts";
import { type ClientDialectName, clientDialect, type ProviderDialectName } from "../../dialects/registry.ts";
import { translate } from "../../dialects/translation/translate.ts";
import type { SerializedToolMapping, Translation } from "../../dialects/translation/translation.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import type { Generation } from "./generation.ts";
import { targetOf } from "./target.ts";

/** What translating an answer needs to know of its request. */
export interface AnswerContext {
  readonly client: ClientDialectName;
  readonly toward: ProviderDialectName;
  readonly source: Omit<Source, "dialect">;
  readonly target: Omit<Target, "dialect">;
  /** Null if the provider speaks the client's dialect. */
  readonly toolMapping: SerializedToolMapping | null;
}

/** What a provider is sent, and the fields of the client's request that are not in it. */
export interface SentBody {
  readonly body: Uint8Array | string;
  readonly dropped: readonly string[];
}

/** A request for one deployment, and how its answer gets back to the client's dialect. */
export class Attempt {
  /** The dialect towards the provider. */
  readonly dialect: ProviderDialectName;
  readonly dropped: readonly string[];
  /** Null if the provider speaks the client's dialect, and the bytes pass through. */
  readonly translation: Translation | null;
  /** The gateway asked for a usage chunk that the client did not ask for. */
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

  /** A translation even where bytes pass through, for a provider that streams unasked, or was asked and does not. */
  reread(): Translation {
    return this.translation ?? translate(this.#source(), targetOf(this.#deployment, this.dialect));
  }

  /** The translation as data, for a large answer that is read on another thread. */
  answerContext(): AnswerContext {
    const { dialect: _, ...source } = this.#source();
    const { dialect: toward } = this;
    const { dialect: __, ...target } = targetOf(this.#deployment, toward);
    const toolMapping = this.translation?.serializeToolMapping() ?? null;
    return { client: this.#generation.clientDialect, toward, source, target, toolMapping };
  }

  /** With as much of the body as may be parsed on the event loop. */
  #source(): Source {
    return sourceOf(this.#generation, this.#generation.request.quickBody);
  }
}

export function sourceOf(generation: Generation, body: JsonObject): Source {
  const { model, clientDialect: dialect, limit, keeping } = generation;
  const { changes } = limit;
  return {
    dialect: clientDialect(dialect),
    body: Object.keys(changes).length === 0 ? body : { ...body, ...changes },
    model: model.id,
    nowSeconds: generation.atSeconds,
    estimatedInputTokens: generation.estimatedInput.tokens,
    kept: keeping === null ? undefined : { parentId: keeping.parentId, isStored: keeping.isStored },
  };
}
