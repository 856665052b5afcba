import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import { countTokensRequest, countTokensResponse } from "../../dialects/anthropic-messages/client/schema.ts";
import { patchBody } from "../../dialects/json/patch.ts";
import { inputTokensRequest, inputTokensResponse } from "../../dialects/openai-responses/client/schema.ts";
import { clientDialect, type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import type { RequestKind } from "../../dialects/request-kinds.ts";
import { isClaude } from "../../dialects/target/model-traits.ts";
import { translate } from "../../dialects/translation/translate.ts";
import type { CountingPlan, Deployment, TokenCount } from "../../upstream/upstream.ts";
import { adaptBytes, bodyVendorOf } from "../../vendors/adapt-body.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import { vendorOf } from "../../vendors/registry.ts";
import { admit } from "../admission/admit.ts";
import { targetOf } from "../attempt/target.ts";
import { readWithConversation } from "../conversations/continue.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import {
  askingCodes,
  freeOfCharge,
  rateHeaders,
  type ServedOperation,
} from "../exchange/served-operation.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { findModel } from "../request/request.ts";
import { permitted, type ReadRequest, type RoutedCall, route } from "../request/route.ts";
import { commonHeaders } from "../response/headers.ts";

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
  run: (gateway, exchange) => countTokens(gateway, exchange, messagesCount),
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
  run: (gateway, exchange) => countTokens(gateway, exchange, responsesCount),
};

/** How a format asks for a count, and is given one. */
interface CountFormat {
  readonly dialect: CountingDialect;
  readonly kind: RequestKind;
  write(count: TokenCount): object;
}

const messagesCount: CountFormat = {
  dialect: "messages",
  kind: "count_tokens",
  write: ({ tokens, originalTokens }) => ({
    input_tokens: tokens,
    ...(originalTokens === null ? {} : { context_management: { original_input_tokens: originalTokens } }),
  }),
};

const responsesCount: CountFormat = {
  dialect: "responses",
  kind: "input_tokens",
  write: ({ tokens }) => ({ object: "response.input_tokens", input_tokens: tokens }),
};

/** Serves a request that only counts. The provider counts if it can, else the gateway does. A provider's failure is not the client's. */
async function countTokens(
  gateway: Gateway,
  exchange: Exchange,
  { dialect, kind, write }: CountFormat,
): Promise<Response> {
  const call = await admit(gateway, exchange);
  const read = await readWithConversation(call, kind);
  const { bytes, truncated, modelId } = read.request;
  const routed = modelId == null ? null : await routeTo(call, read, dialect);
  // A shutdown waits for the local count too, which may have to load its tokenizer first.
  const { count, basis } = await gateway.ongoing.withoutSlot(exchange, async () => {
    const exact = routed === null ? null : await countUpstream(routed, dialect);
    if (exact !== null) return { count: exact, basis: "exact" };
    const isForClaude = routed?.model.deployments.some(isClaude) === true;
    const tokens = await gateway.tokens.of(call.keyId).request(bytes, isForClaude);
    return { count: { tokens, originalTokens: null }, basis: "estimate" };
  });
  const isEdited = (truncated["context_management"] ?? null) !== null;
  const headers = { ...commonHeaders(exchange), "x-sluice-count": basis };
  return Response.json(write(isEdited ? count : { ...count, originalTokens: null }), { headers });
}

/** Only a request that names its model can be counted by a provider. */
function routeTo(call: AdmittedCall, read: ReadRequest, dialect: CountingDialect): Promise<RoutedCall> {
  const model = permitted(call, findModel(call.configured, call.key, read.request.modelId));
  return route(call, read, model, { dialect }, null);
}

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
  { isLarge }: ClientRequest,
  client: CountingDialect,
): ProviderDialectName | null {
  const { countTokens, kind, options } = provider.settings;
  const vendor = vendorOf(kind);
  if (client === "responses" && dialects.includes(client)) {
    // Compatible servers seldom have such a request, so the operator says it.
    const counts = countTokens || vendor.strictDialects.includes(client);
    return counts && !isLarge ? client : null;
  }
  if (!countTokens) return null;
  const fixed = vendor.countingDialect?.(options) ?? null;
  if (fixed === null && dialects.includes(client)) return client;
  if (isLarge) return null;
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
