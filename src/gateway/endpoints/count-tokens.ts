import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import type { CountRoute, TokenCount } from "../../dialects/contract/client-dialect.ts";
import { patchBody } from "../../dialects/json/patch.ts";
import {
  type ClientDialectName,
  clientDialect,
  isSpoken,
  otherRequests,
  type ProviderDialectName,
  providerDialect,
} from "../../dialects/registry.ts";
import type { RequestKind } from "../../dialects/request-kinds.ts";
import { isClaude } from "../../dialects/target/model-traits.ts";
import { translate } from "../../dialects/translation/translate.ts";
import type { CountingPlan, Deployment } from "../../upstream/upstream.ts";
import { adaptBytes, bodyVendorOf } from "../../vendors/adapt-body.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import { vendorOf } from "../../vendors/registry.ts";
import { admit } from "../admission/admit.ts";
import { targetOf } from "../attempt/generation.ts";
import { paceRequest } from "../body-worker/request-pacer.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import {
  askingCodes,
  freeOfCharge,
  rateHeaders,
  type ServedOperation,
} from "../exchange/served-operation.ts";
import { readGeneration } from "../generate.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { findModel, permitted } from "../request/model.ts";
import { type ReadRequest, type RoutedCall, route } from "../request/route.ts";
import { commonHeaders } from "../response/headers.ts";

/** A count only helps the client decide: better an estimate soon than the exact figure late. */
const providersCountMs = 5000;

/** A dialect's request for a count, with its route. */
interface Counting extends CountRoute {
  readonly kind: RequestKind;
  readonly dialect: ClientDialectName;
}

export const countOperations: readonly ServedOperation[] = otherRequests.flatMap(
  ({ kind, dialect, counting }) =>
    counting === undefined ? [] : [countOperation({ ...counting, kind, dialect })],
);

function countOperation(counting: Counting): ServedOperation {
  const { path, switchedBy, operation, dialect } = counting;
  const { errorFormat, route } = clientDialect(dialect);
  return {
    method: "POST",
    ...freeOfCharge,
    needsKey: true,
    codes: askingCodes,
    headers: [...rateHeaders, "x-sluice-count"],
    path,
    ...(switchedBy === undefined ? {} : { switchedBy }),
    errors: errorFormat,
    keyHeader: route.keyHeader,
    description: operation,
    run: (gateway, exchange) => countTokens(gateway, exchange, counting),
  };
}

/** Serves a request that only counts. The provider counts if it can, else the gateway does. A provider's failure is not the client's. */
export async function countTokens(
  gateway: Gateway,
  exchange: Exchange,
  { dialect, kind, write }: Pick<Counting, "dialect" | "kind" | "write">,
): Promise<Response> {
  const call = await admit(gateway, exchange);
  const read = await readGeneration(call, kind);
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
function routeTo(call: AdmittedCall, read: ReadRequest, dialect: ClientDialectName): Promise<RoutedCall> {
  const model = permitted(call, findModel(call.configured, call.key, read.request.modelId));
  return route(call, read, model, { dialect }, null);
}

function planFor(routed: RoutedCall, client: ClientDialectName): CountingPlan {
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
    prepare: async (deployment) => {
      await paceRequest(request.bytes);
      return prepare(deployment, exchange, request, client);
    },
  };
}

/** Null if the request cannot be translated or the provider fails; the caller then counts locally. */
async function countUpstream(routed: RoutedCall, client: ClientDialectName): Promise<TokenCount | null> {
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
  client: ClientDialectName,
): ProviderDialectName | null {
  const { countTokens, kind, options } = provider.settings;
  const vendor = vendorOf(kind);
  const isOwn = isSpoken(client, dialects);
  if (isOwn && hasOwnForm(client)) {
    // Compatible servers seldom have such a request, so the operator says it.
    const counts = countTokens || vendor.strictDialects.includes(client);
    return counts && !isLarge ? client : null;
  }
  if (!countTokens) return null;
  const fixed = vendor.countingDialect?.(options) ?? null;
  if (fixed === null && isOwn) return client;
  if (isLarge) return null;
  return fixed ?? dialects.find((name) => providerDialect(name).countTokens !== undefined) ?? null;
}

function hasOwnForm(dialect: ProviderDialectName): boolean {
  return providerDialect(dialect).countTokens?.hasOwnForm === true;
}

function prepare(
  deployment: Deployment,
  exchange: Exchange,
  request: ClientRequest,
  client: ClientDialectName,
): PreparedRequest {
  const dialect = dialectToward(deployment, request, client);
  assert(dialect !== null, "only a provider that counts is asked to");
  const { upstreamModel: model, family, provider } = deployment;
  const headers = clientDialect(client).forwardHeaders(exchange.call.request.headers);
  const prepared = { dialect, purpose: "countTokens", model, stream: false, headers } as const;
  const { bytes, spans, body, modelId } = request;
  if (dialect === client && !hasOwnForm(dialect)) {
    const vendor = bodyVendorOf(provider.settings, dialect, family ?? model, headers, "countTokens");
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
