import { assert } from "../base/assert.ts";
import { GatewayError } from "../base/errors.ts";
import { countTokensRequest, countTokensResponse } from "../dialects/anthropic-messages/client/schema.ts";
import { patchBody } from "../dialects/json/patch.ts";
import { inputTokensRequest, inputTokensResponse } from "../dialects/openai-responses/client/schema.ts";
import { clientDialect, type ProviderDialectName, providerDialect } from "../dialects/registry.ts";
import type { RequestKind } from "../dialects/schema/validate.ts";
import { isClaude } from "../dialects/translation/model-traits.ts";
import { translate } from "../dialects/translation/translate.ts";
import type { KeyRecord } from "../store/store.ts";
import type { CountingPlan, Deployment } from "../upstream/upstream.ts";
import { adaptBytes, bodyVendorOf } from "../vendors/adapt-body.ts";
import type { Prepared } from "../vendors/provider.ts";
import { vendorOf } from "../vendors/registry.ts";
import { admit } from "./admission/admit.ts";
import { targetOf } from "./attempt/target.ts";
import type { Configured } from "./configured.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { commonHeaders } from "./headers.ts";
import { continuationOf } from "./request/provider-id-owners.ts";
import { readRequest } from "./request/read-request.ts";
import { type ClientRequest, findModel, refuseForbidden } from "./request/request.ts";
import { askingCodes, freeOfCharge, rateHeaders, type ServedOperation } from "./served-operation.ts";

/** A count only helps the client decide: better an estimate soon than the exact figure late. */
const providersCountMs = 5000;

/** A request that only counts. */
interface TokenCount {
  readonly client: "messages" | "responses";
  readonly kind: RequestKind;
  write(tokens: number): object;
}

const ofMessages: TokenCount = {
  client: "messages",
  kind: "count_tokens",
  write: (tokens) => ({ input_tokens: tokens }),
};

const ofResponses: TokenCount = {
  client: "responses",
  kind: "input_tokens",
  write: (tokens) => ({ object: "response.input_tokens", input_tokens: tokens }),
};

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
  run: (gateway, exchange) => countTokens(gateway, exchange, ofMessages),
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
  run: (gateway, exchange) => countTokens(gateway, exchange, ofResponses),
};

/** The provider's own count if it offers one, else a local one. A provider's failure is not the client's. */
async function countTokens(
  gateway: Gateway,
  exchange: Exchange,
  { client, kind, write }: TokenCount,
): Promise<Response> {
  const key = await admit(gateway, exchange);
  const request = await readRequest(gateway, exchange, key, kind);
  // Only a request that names its model can be counted by a provider.
  const plan = request.modelId == null ? null : await planFor(gateway, exchange, key, request, client);
  // A shutdown waits for the local count too, which may have to load its tokenizer first.
  const { tokens, basis } = await gateway.ongoing.withoutPlace(exchange, async () => {
    const exact = plan === null ? null : await countUpstream(exchange.configured, plan);
    if (exact !== null) return { tokens: exact, basis: "exact" };
    const isForClaude = plan?.model.deployments.some(isClaude) === true;
    return { tokens: await gateway.tokens.of(key.id).request(request.bytes, isForClaude), basis: "estimate" };
  });
  return Response.json(write(tokens), { headers: { ...commonHeaders(exchange), "x-sluice-count": basis } });
}

async function planFor(
  gateway: Gateway,
  exchange: Exchange,
  key: KeyRecord,
  request: ClientRequest,
  client: TokenCount["client"],
): Promise<CountingPlan> {
  const { configured } = exchange;
  const model = findModel(configured, key, request.modelId);
  exchange.model = model;
  refuseForbidden(configured, key, model);
  const { mentions } = request;
  const continuing = { configured, key, model, dialect: client, mentions } as const;
  const { scope, credential } = await continuationOf(gateway.idOwners, continuing);
  return {
    model,
    scope,
    credential,
    conversation: null,
    keyId: key.id,
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

/** What cannot be said in the provider's dialect is counted here. */
async function countUpstream({ upstream }: Configured, plan: CountingPlan): Promise<number | null> {
  try {
    return await upstream.countTokens(plan);
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

/** Null if the provider cannot count. A large body takes too long to translate for a mere count. */
function dialectToward(
  { provider, dialects }: Deployment,
  { large }: ClientRequest,
  client: TokenCount["client"],
): ProviderDialectName | null {
  const { countTokens, kind, options } = provider.settings;
  const vendor = vendorOf(kind);
  if (client === "responses" && dialects.includes(client)) {
    // Compatible servers seldom have such a request.
    return vendor.strictDialects.includes(client) && large === null ? client : null;
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
  client: TokenCount["client"],
): Prepared {
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
  const asked = dialect === client ? { ...body, model } : translate(source, target).body;
  return { ...prepared, body: JSON.stringify(target.dialect.countTokens?.writeRequest(asked, target)) };
}
