import { GatewayError } from "../base/errors.ts";
import { anthropicModel, anthropicPage } from "../catalog/anthropic-models.ts";
import type { KeyRecord } from "../store/store.ts";
import { admitOptional } from "./admission/admit.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { commonHeaders } from "./headers.ts";

/**
 * The public catalog without a key, else the key's own. A bad credential does not fall back to the public one. OpenAI's
 * list has `object` and `data` and, by the contract, no other field; Anthropic's comes in pages.
 */
export async function listModels(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const models = listed(exchange, await admitOptional(gateway, exchange));
  const { route } = exchange.call;
  const list =
    route.errors === "anthropic"
      ? anthropicPage(models, urlOf(exchange).searchParams)
      : { object: "list", data: models };
  return Response.json(list, { headers: commonHeaders(exchange) });
}

/** One model, by its id or an alias. What a caller may not use does not exist for it, as in the list. */
export async function showModel(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const key = await admitOptional(gateway, exchange);
  const { catalog } = exchange.configured;
  const { route } = exchange.call;
  const name = nameIn(exchange);
  const model = catalog.find(name);
  const isVisible = model !== undefined && (key === null ? model.public : catalog.permits(key, model));
  if (!isVisible) {
    throw new GatewayError("model_not_found", `There is no model "${name}"; GET /v1/models lists them.`, {
      param: "model",
    });
  }
  const shown = catalog.show(model);
  return Response.json(route.errors === "anthropic" ? anthropicModel(shown) : shown, {
    headers: commonHeaders(exchange),
  });
}

function listed({ configured: { catalog } }: Exchange, key: KeyRecord | null) {
  return catalog.list(key === null ? catalog.publicModels() : catalog.modelsFor(key));
}

/** The part of the path that matches the route's wildcard. The edge has refused what cannot be decoded. */
function nameIn(exchange: Exchange): string {
  const { path } = exchange.call.route;
  return decodeURIComponent(urlOf(exchange).pathname.slice(path.length - 1));
}

/** A request without a host has a bare path as its URL. */
function urlOf({ call: { request } }: Exchange): URL {
  return new URL(request.url, "http://localhost");
}
