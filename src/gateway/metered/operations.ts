import { type MeteredRouteName, meteredRoute, meteredRouteNames } from "../../dialects/metered/registry.ts";
import { chargedCodes, chargedHeaders, type ServedOperation } from "../served-operation.ts";
import { serveMetered } from "./serve.ts";

/** The operations of all metered routes, each under all of its paths. */
export const meteredOperations: readonly ServedOperation[] = meteredRouteNames.flatMap(operationsOf);

function operationsOf(name: MeteredRouteName): ServedOperation[] {
  const { paths, operation, switchedBy, use, tracedAs } = meteredRoute(name);
  return paths.map((path) => ({
    method: "POST",
    path,
    switchedBy,
    errors: "openai",
    acceptsApiKeyHeader: false,
    dialect: null,
    use,
    needsKey: true,
    isCharged: true,
    tracedAs,
    codes: chargedCodes,
    headers: [...chargedHeaders, "x-sluice-units"],
    description: { ...operation, headers: ["Idempotency-Key"] },
    run: (gateway, exchange) => serveMetered(gateway, exchange, name),
  }));
}
