import { patchBody } from "../dialects/json/patch.ts";
import { clientDialect } from "../dialects/registry.ts";
import type { Plan } from "../upstream/upstream.ts";
import { admit } from "./admission/admit.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { commonHeaders } from "./headers.ts";
import { scopeOf } from "./request/given-ids.ts";
import { readRequest } from "./request/read-request.ts";
import { findModel, refuseForbidden } from "./request/request.ts";

/** A count only helps the client decide: better an estimate soon than the exact figure late. */
const providersCountMs = 5000;

/** The provider's own count if it offers one, else a local one. A provider's failure is not the client's. */
export async function countTokens(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { call, configured } = exchange;
  const key = await admit(gateway, exchange);
  const request = await readRequest(gateway, exchange, key, "count_tokens");
  const model = findModel(configured, request.modelId);
  exchange.model = model;
  refuseForbidden(configured, key, model);
  const scope = await scopeOf(gateway.givenIds, configured, key, model, request.mentions.references);
  const headers = clientDialect("messages").forwardHeaders(call.request.headers);
  const plan: Plan = {
    model,
    scope,
    keyId: key.id,
    clientDialect: "messages",
    stream: false,
    get isOver() {
      return exchange.isOver;
    },
    get signal() {
      return exchange.signal;
    },
    deadlineMs: exchange.startedMs + providersCountMs,
    prepare: ({ upstreamModel }) => {
      const body = patchBody(request.bytes, request.spans, { model: upstreamModel });
      return {
        dialect: "messages",
        purpose: "count_tokens",
        model: upstreamModel,
        stream: false,
        body,
        headers,
      };
    },
  };
  const exact = await gateway.ongoing.withoutPlace(exchange, () => configured.upstream.countTokens(plan));
  const inputTokens = exact ?? (await gateway.tokens.request(request.bytes));
  return Response.json(
    { input_tokens: inputTokens },
    { headers: { ...commonHeaders(exchange), "x-sluice-count": exact === null ? "estimate" : "exact" } },
  );
}
