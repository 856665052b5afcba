import type { JsonObject } from "../../base/json.ts";
import type { InputEstimate } from "../../catalog/estimate.ts";
import type { Source } from "../../dialects/client-dialect.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import type { OutputLimit } from "../../dialects/output-limit.ts";
import {
  type ClientDialectName,
  clientDialect,
  type ProviderDialectName,
  type SharedDialectName,
} from "../../dialects/registry.ts";
import { translate } from "../../dialects/translation/translate.ts";
import type { SerializedToolMapping, Translation } from "../../dialects/translation/translation.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import type { Prepared } from "../../vendors/provider.ts";
import type { AnswerContext } from "../large/jobs.ts";
import type { ClientRequest } from "../request/request.ts";
import { targetOf } from "./target.ts";

/** The parts of a generation that its attempts are prepared from. */
export interface PreparableRequest {
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
  /** Whether the gateway stores the answer, and the response that it continues; null if it keeps nothing of it. */
  readonly keeping: { readonly parentId: string | null; readonly isStored: boolean } | null;
  readonly isCompactedUpstream: boolean;
}

/** A request for one deployment, and how its answer gets back to the client's dialect. */
export type Attempt = PassingAttempt | TranslatedAttempt;

/** What a provider is sent, and the fields of the client's request that are not in it. */
export interface SentBody {
  readonly body: Uint8Array | string;
  readonly dropped: readonly string[];
}

abstract class PreparedAttempt<Dialect extends ProviderDialectName> {
  /** The dialect towards the provider. */
  readonly dialect: Dialect;
  readonly prepared: Prepared;
  readonly dropped: readonly string[];
  protected readonly generation: PreparableRequest;
  protected readonly deployment: Deployment;

  constructor(
    generation: PreparableRequest,
    deployment: Deployment,
    dialect: Dialect,
    { body, dropped }: SentBody,
  ) {
    const { stream, headers, trace } = generation;
    this.dialect = dialect;
    this.prepared = {
      dialect,
      purpose: generation.isCompactedUpstream ? "compact" : "generate",
      model: deployment.upstreamModel,
      stream,
      body,
      headers,
      trace,
    };
    this.dropped = dropped;
    this.generation = generation;
    this.deployment = deployment;
  }

  /** A translation even where bytes pass through, for a provider that streams unasked, or was asked and does not. */
  abstract reread(): Translation;

  /** The same as data, for a large answer that is read on another thread. */
  abstract answerContext(): AnswerContext;

  protected contextWith(toolMapping: SerializedToolMapping | null): AnswerContext {
    const { dialect: _, ...source } = sourceOf(this.generation, readableBody(this.generation.request));
    const { dialect: __, ...target } = targetOf(this.deployment, this.dialect);
    return { client: this.generation.clientDialect, toward: this.dialect, source, target, toolMapping };
  }
}

/** The provider speaks the client's dialect, and the bytes pass through. */
export class PassingAttempt extends PreparedAttempt<SharedDialectName> {
  readonly translation = null;
  /** The gateway asked for a usage chunk that the client did not ask for. */
  readonly hideUsage: boolean;

  constructor(
    generation: PreparableRequest,
    deployment: Deployment,
    dialect: SharedDialectName,
    sent: SentBody,
    hideUsage: boolean,
  ) {
    super(generation, deployment, dialect, sent);
    this.hideUsage = hideUsage;
  }

  override reread(): Translation {
    const source = sourceOf(this.generation, readableBody(this.generation.request));
    return translate(source, targetOf(this.deployment, this.dialect));
  }

  override answerContext(): AnswerContext {
    return this.contextWith(null);
  }
}

export class TranslatedAttempt extends PreparedAttempt<ProviderDialectName> {
  readonly translation: Translation;
  readonly hideUsage = false;

  constructor(
    generation: PreparableRequest,
    deployment: Deployment,
    dialect: ProviderDialectName,
    sent: SentBody,
    translation: Translation,
  ) {
    super(generation, deployment, dialect, sent);
    this.translation = translation;
  }

  override reread(): Translation {
    return this.translation;
  }

  override answerContext(): AnswerContext {
    return this.contextWith(this.translation.serializeToolMapping());
  }
}

/** As much of the body as may be parsed on the event loop. */
function readableBody(request: ClientRequest): JsonObject {
  return request.large === null ? request.body : request.truncated;
}

export function sourceOf(generation: PreparableRequest, body: JsonObject): Source {
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
