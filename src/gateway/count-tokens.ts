import { assert } from "../base/assert.ts";
import { GatewayError } from "../base/errors.ts";
import { countTokensRequest, countTokensResponse } from "../dialects/anthropic-messages/client/schema.ts";
import { patchBody } from "../dialects/json/patch.ts";
import { clientDialect, type ProviderDialectName, providerDialect } from "../dialects/registry.ts";
import { translate } from "../dialects/translation/translate.ts";
import type { CountingPlan, Deployment } from "../upstream/upstream.ts";
import { adaptBytes, type BodyVendor, bodyVendorOf } from "../vendors/adapt-body.ts";
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

/** The only client dialect that has such a request. */
const client = "messages";

export const countTokensOperation: ServedOperation = {
  method: "POST",
  path: "/v1/messages/count_tokens",
  errors: clientDialect(client).errorFormat,
  acceptsApiKeyHeader: true,
  ...freeOfCharge,
  needsKey: true,
  codes: askingCodes,
  headers: [...rateHeaders, "x-sluice-count"],
  description: {
    operationId: "countTokens",
    summary: "Count input tokens",
    description: "Creates no model response and deducts no generation usage.",
    headers: clientDialect(client).operation.headers ?? [],
    request: "TokenCountRequest",
    response: "TokenCountResponse",
    schemas: { TokenCountRequest: countTokensRequest, TokenCountResponse: countTokensResponse },
  },
  run: countTokens,
};

/** The provider's own count if it offers one, else a local one. A provider's failure is not the client's. */
async function countTokens(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { configured } = exchange;
  const key = await admit(gateway, exchange);
  const request = await readRequest(gateway, exchange, key, "count_tokens");
  const model = findModel(configured, request.modelId);
  exchange.model = model;
  refuseForbidden(configured, key, model);
  const { mentions } = request;
  const continuing = { configured, key, model, dialect: client, mentions } as const;
  const { scope, credential } = await continuationOf(gateway.idOwners, continuing);
  const counting = new Counting(exchange, request);
  const plan: CountingPlan = {
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
    mayCount: (deployment) => counting.dialectToward(deployment) !== null,
    prepare: (deployment) => counting.prepare(deployment),
  };
  // A shutdown waits for the local count too, which may have to load its tokenizer first.
  const { tokens, basis } = await gateway.ongoing.withoutPlace(exchange, async () => {
    const exact = await countUpstream(configured, plan);
    if (exact !== null) return { tokens: exact, basis: "exact" };
    return { tokens: await gateway.tokens.request(request.bytes), basis: "estimate" };
  });
  return Response.json(
    { input_tokens: tokens },
    { headers: { ...commonHeaders(exchange), "x-sluice-count": basis } },
  );
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

/** The client's request, as a provider is asked to count it. */
class Counting {
  readonly #exchange: Exchange;
  readonly #request: ClientRequest;

  constructor(exchange: Exchange, request: ClientRequest) {
    this.#exchange = exchange;
    this.#request = request;
  }

  /** Null if the provider cannot count. A large body takes too long to translate for a mere count. */
  dialectToward({ provider, dialects }: Deployment): ProviderDialectName | null {
    const { countTokens, kind, options } = provider.settings;
    if (!countTokens) return null;
    const fixed = vendorOf(kind).countingDialect?.(options) ?? null;
    if (fixed === null && dialects.includes(client)) return client;
    if (this.#request.large !== null) return null;
    if (fixed !== null) return fixed;
    return dialects.find((name) => providerDialect(name).countTokens !== undefined) ?? null;
  }

  prepare(deployment: Deployment): Prepared {
    const { upstreamModel: model } = deployment;
    const dialect = this.dialectToward(deployment);
    assert(dialect !== null, "only a provider that counts is asked to");
    const headers = clientDialect(client).forwardHeaders(this.#exchange.call.request.headers);
    const body = this.#bodyFor(dialect, deployment);
    return { dialect, purpose: "countTokens", model, stream: false, body, headers };
  }

  #vendorOf({ provider, family, upstreamModel }: Deployment): BodyVendor | null {
    const headers = clientDialect(client).forwardHeaders(this.#exchange.call.request.headers);
    return bodyVendorOf(provider.settings, client, family ?? upstreamModel, headers, "countTokens");
  }

  #bodyFor(dialect: ProviderDialectName, deployment: Deployment): Uint8Array | string {
    const { bytes, spans, body, modelId } = this.#request;
    if (dialect === client) {
      const renamed = patchBody(bytes, spans, { model: deployment.upstreamModel });
      return adaptBytes(renamed, this.#vendorOf(deployment), []).body;
    }
    const source = {
      dialect: clientDialect(client),
      body,
      model: modelId,
      nowSeconds: 0,
      estimatedInputTokens: 0,
    };
    const target = targetOf(deployment, dialect);
    const written = target.dialect.countTokens?.writeRequest(translate(source, target).body, target);
    return JSON.stringify(written);
  }
}
