import { assert } from "../base/assert.ts";
import { GatewayError } from "../base/errors.ts";
import type { ModelSettings } from "../config/settings.ts";
import { countTokensRequest, countTokensResponse } from "../dialects/anthropic-messages/client/schema.ts";
import { patchBody } from "../dialects/json/patch.ts";
import { inputTokensRequest, inputTokensResponse } from "../dialects/openai-responses/client/schema.ts";
import { clientDialect, type ProviderDialectName, providerDialect } from "../dialects/registry.ts";
import type { RequestKind } from "../dialects/schema/validate.ts";
import { isClaude } from "../dialects/translation/model-traits.ts";
import { translate } from "../dialects/translation/translate.ts";
import type { CountingPlan, Deployment, TokenCount } from "../upstream/upstream.ts";
import { adaptBytes, bodyVendorOf } from "../vendors/adapt-body.ts";
import type { PreparedRequest } from "../vendors/provider.ts";
import { vendorOf } from "../vendors/registry.ts";
import { targetOf } from "./attempt/target.ts";
import type { Exchange } from "./exchange.ts";
import { commonHeaders } from "./headers.ts";
import { type FreeSteps, serveFree } from "./lifecycle.ts";
import { readRequest } from "./request/read-request.ts";
import { type ClientRequest, findModel } from "./request/request.ts";
import { askingCodes, freeOfCharge, rateHeaders, type ServedOperation } from "./served-operation.ts";
import type { AdmittedCall, ReadRequest, RoutedCall } from "./stages.ts";

/** A count only helps the client decide: better an estimate soon than the exact figure late. */
const providersCountMs = 5000;

type CountingDialect = "messages" | "responses";

const counting = {
  method: "POST",
  ...freeOfCharge,
  needsKey: true,
  codes: askingCodes,
  headers: [...rateHeaders, "x-sluice-count"],
} as const;

const summary = "Count input tokens";
const description = "Creates no model response and deducts no generation usage.";

export const countTokensOperation: ServedOperation = {
  ...counting,
  path: "/v1/messages/count_tokens",
  errors: "anthropic",
  acceptsApiKeyHeader: true,
  description: {
    operationId: "countTokens",
    summary,
    description,
    headers: clientDialect("messages").operation.headers ?? [],
    request: "TokenCountRequest",
    response: "TokenCountResponse",
    schemas: { TokenCountRequest: countTokensRequest, TokenCountResponse: countTokensResponse },
  },
  run: (gateway, exchange) => serveFree(gateway, exchange, messagesCount),
};

export const inputTokensOperation: ServedOperation = {
  ...counting,
  path: "/v1/responses/input_tokens",
  switchedBy: "input_tokens",
  errors: "openai",
  acceptsApiKeyHeader: false,
  description: {
    operationId: "countInputTokens",
    summary,
    description,
    request: "InputTokensRequest",
    response: "InputTokensResponse",
    schemas: { InputTokensRequest: inputTokensRequest, InputTokensResponse: inputTokensResponse },
  },
  run: (gateway, exchange) => serveFree(gateway, exchange, responsesCount),
};

/** The steps of a request that only counts. The provider counts if it can, else the gateway does. */
class CountSteps implements FreeSteps {
  readonly dialect: CountingDialect;
  readonly #kind: RequestKind;
  readonly #write: (count: TokenCount) => object;

  constructor(dialect: CountingDialect, kind: RequestKind, write: (count: TokenCount) => object) {
    this.dialect = dialect;
    this.#kind = kind;
    this.#write = write;
  }

  read(call: AdmittedCall): ReadRequest | Promise<ReadRequest> {
    return readRequest(call, this.#kind);
  }

  /** Only a request that names its model can be counted by a provider. */
  findModel({ configured, key }: AdmittedCall, { modelId }: ClientRequest): ModelSettings | null {
    return modelId == null ? null : findModel(configured, key, modelId);
  }

  /** A provider's failure is not the client's. */
  async answer(
    { gateway, exchange, keyId }: AdmittedCall,
    { bytes, truncated }: ClientRequest,
    routed: RoutedCall | null,
  ): Promise<Response> {
    // A shutdown waits for the local count too, which may have to load its tokenizer first.
    const { count, basis } = await gateway.ongoing.withoutSlot(exchange, async () => {
      const exact = routed === null ? null : await countUpstream(routed, this.dialect);
      if (exact !== null) return { count: exact, basis: "exact" };
      const isForClaude = routed?.model.deployments.some(isClaude) === true;
      const tokens = await gateway.tokens.of(keyId).request(bytes, isForClaude);
      return { count: { tokens, originalTokens: null }, basis: "estimate" };
    });
    const isEdited = (truncated["context_management"] ?? null) !== null;
    const headers = { ...commonHeaders(exchange), "x-sluice-count": basis };
    return Response.json(this.#write(isEdited ? count : { ...count, originalTokens: null }), { headers });
  }
}

const messagesCount = new CountSteps("messages", "count_tokens", ({ tokens, originalTokens }) => ({
  input_tokens: tokens,
  ...(originalTokens === null ? {} : { context_management: { original_input_tokens: originalTokens } }),
}));

const responsesCount = new CountSteps("responses", "input_tokens", ({ tokens }) => ({
  object: "response.input_tokens",
  input_tokens: tokens,
}));

function planFor(routed: RoutedCall, client: CountingDialect): CountingPlan {
  const { exchange, request, model, scope, credential, keyId } = routed;
  return {
    model,
    scope,
    credential,
    conversation: null,
    keyId,
    clientDialect: client,
    stream: false,
    get isOver() {
      return exchange.isOver;
    },
    get signal() {
      return exchange.signal;
    },
    deadlineMs: exchange.startedMs + providersCountMs,
    mayCount: (deployment) => dialectToward(deployment, request, client) !== null,
    prepare: (deployment) => prepare(deployment, exchange, request, client),
  };
}

/** Null if the request cannot be translated or the provider fails; the caller then counts locally. */
async function countUpstream(routed: RoutedCall, client: CountingDialect): Promise<TokenCount | null> {
  try {
    return await routed.configured.upstream.countTokens(planFor(routed, client));
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

/** Null if the provider cannot count. A large body takes too long to translate for a mere count. */
function dialectToward(
  { provider, dialects }: Deployment,
  { large }: ClientRequest,
  client: CountingDialect,
): ProviderDialectName | null {
  const { countTokens, kind, options } = provider.settings;
  const vendor = vendorOf(kind);
  if (client === "responses" && dialects.includes(client)) {
    // Compatible servers seldom have such a request, so the operator says it.
    const counts = countTokens || vendor.strictDialects.includes(client);
    return counts && large === null ? client : null;
  }
  if (!countTokens) return null;
  const fixed = vendor.countingDialect?.(options) ?? null;
  if (fixed === null && dialects.includes(client)) return client;
  if (large !== null) return null;
  return fixed ?? dialects.find((name) => providerDialect(name).countTokens !== undefined) ?? null;
}

function prepare(
  deployment: Deployment,
  exchange: Exchange,
  request: ClientRequest,
  client: CountingDialect,
): PreparedRequest {
  const dialect = dialectToward(deployment, request, client);
  assert(dialect !== null, "only a provider that counts is asked to");
  const { upstreamModel: model, family, provider } = deployment;
  const headers = clientDialect(client).forwardHeaders(exchange.call.request.headers);
  const prepared = { dialect, purpose: "countTokens", model, stream: false, headers } as const;
  const { bytes, spans, body, modelId } = request;
  if (dialect === client && client !== "responses") {
    const vendor = bodyVendorOf(provider.settings, client, family ?? model, headers, "countTokens");
    return { ...prepared, body: adaptBytes(patchBody(bytes, spans, { model }), vendor, []).body };
  }
  const target = targetOf(deployment, dialect);
  const source = {
    dialect: clientDialect(client),
    body,
    model: modelId,
    nowSeconds: 0,
    estimatedInputTokens: 0,
  };
  const countedBody = dialect === client ? { ...body, model } : translate(source, target).body;
  return { ...prepared, body: JSON.stringify(target.dialect.countTokens?.writeRequest(countedBody, target)) };
}
