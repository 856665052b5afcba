import { admitOptional } from "./admission/admit.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { commonHeaders } from "./headers.ts";

/** The public catalog without a key, else the key's own. A bad credential does not fall back to the public one. */
export async function listModels(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const key = await admitOptional(gateway, exchange);
  const { catalog } = exchange.configured;
  const models = key === null ? catalog.publicModels() : catalog.modelsFor(key);
  return Response.json(catalog.list(models), { headers: commonHeaders(exchange) });
}
