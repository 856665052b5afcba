import { GatewayError } from "../base/errors.ts";
import { unknownModelMessage } from "../base/unknown-model.ts";
import type { KeyRecord } from "../store/store.ts";
import { admitOptional } from "./admission/admit.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { commonHeaders } from "./headers.ts";

/**
 * The public catalog without a key, else the key's own. A bad credential does not fall back to the public one. By the
 * contract the list has no field but these two. Anthropic's clients stop paging where `has_more` is absent.
 */
export async function listModels(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const data = listed(exchange, await admitOptional(gateway, exchange));
  return Response.json({ object: "list", data }, { headers: commonHeaders(exchange) });
}

/** One model, by its id or an alias. What a caller may not use does not exist for it, as in the list. */
export async function showModel(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const key = await admitOptional(gateway, exchange);
  const { catalog } = exchange.configured;
  const name = nameIn(exchange);
  const model = catalog.find(name);
  const isVisible = model !== undefined && (key === null ? model.public : catalog.permits(key, model));
  if (!isVisible) {
    throw new GatewayError("model_not_found", unknownModelMessage(name), { param: "model" });
  }
  return Response.json(catalog.show(model), { headers: commonHeaders(exchange) });
}

function listed({ configured: { catalog } }: Exchange, key: KeyRecord | null) {
  return catalog.list(key === null ? catalog.publicModels() : catalog.modelsFor(key));
}

/** The part of the path that matches the route's wildcard. The edge has refused what cannot be decoded. */
function nameIn({ call: { request, route } }: Exchange): string {
  // A request without a host has a bare path as its URL.
  const { pathname } = new URL(request.url, "http://localhost");
  return decodeURIComponent(pathname.slice(route.path.length - 1));
}
