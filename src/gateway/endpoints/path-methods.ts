import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import { type MeteredRouteName, meteredRoute, meteredRouteNames } from "../../dialects/metered/registry.ts";
import { type ClientDialectName, clientDialect, clientDialectNames } from "../../dialects/registry.ts";
import { urlOf } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { chargedCodes, chargedHeaders, type ServedOperation } from "../exchange/served-operation.ts";
import { generate } from "../generate.ts";
import { serveMetered } from "../metered/serve.ts";
import { asList } from "../response/list-stream.ts";
import { countTokens } from "./count-tokens.ts";

/** The routes of dialects whose requests have their model and their method in the path. */
export const pathMethodOperations: readonly ServedOperation[] = clientDialectNames.flatMap((name) =>
  (clientDialect(name).inPath?.paths ?? []).map((path) => pathMethods(name, path)),
);

function pathMethods(name: ClientDialectName, path: string): ServedOperation {
  const { route, operation, errorFormat, timeoutCode, inPath } = clientDialect(name);
  assert(inPath !== undefined, "a dialect has paths without methods", name);
  return {
    ...route,
    method: "POST",
    path,
    switchedBy: inPath.switchedBy,
    needsKey: true,
    isCharged: true,
    errors: errorFormat,
    dialect: name,
    use: "generation",
    tracedAs: "generate_content",
    codes: [...chargedCodes, timeoutCode, "not_found"],
    headers: [...chargedHeaders, "x-sluice-model", "x-sluice-units"],
    description: { ...operation, headers: ["Idempotency-Key"] },
    run: (gateway, exchange) => runMethod(gateway, exchange, name),
  };
}

/** The route in the paths of a dialect, while it is on. */
function metered({ configured }: Exchange, name: ClientDialectName): MeteredRouteName {
  const { routes } = configured.settings;
  const found = meteredRouteNames.find((each) => meteredRoute(each).inPath?.dialect === name);
  if (found === undefined || !routes[meteredRoute(found).switchedBy])
    throw new GatewayError("not_found", "This gateway serves no embeddings.");
  return found;
}

async function runMethod(gateway: Gateway, exchange: Exchange, name: ClientDialectName): Promise<Response> {
  const { inPath, errorFormat } = clientDialect(name);
  const { pathname, searchParams } = urlOf(exchange.call);
  const method = inPath?.read(pathname)?.method;
  if (inPath === undefined || method === undefined)
    throw new GatewayError("not_found", `Unknown method. ${errorFormat.served ?? ""}`);
  if (method === "embed" || method === "embedAll")
    return serveMetered(gateway, exchange, metered(exchange, name));
  if (method === "count") {
    const { writeCount: write } = inPath;
    return countTokens(gateway, exchange, { kind: name, dialect: name, write });
  }
  const run = () => generate(gateway, exchange, name);
  return method === "stream" && searchParams.get("alt") !== "sse"
    ? asList(exchange, inPath.isHeartbeat, run)
    : run();
}
