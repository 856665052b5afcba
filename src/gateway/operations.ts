import { keyModes, modeOrigins } from "../base/key-attributes.ts";
import { type MeteredRouteName, meteredRoute, meteredRouteNames } from "../dialects/metered/registry.ts";
import { compactRequest, compactResponse } from "../dialects/openai-responses/client/schema.ts";
import {
  type ClientDialectName,
  clientDialect,
  clientDialectNames,
  plainErrors,
} from "../dialects/registry.ts";
import { batchOperations } from "./endpoints/batches.ts";
import { conversationOperations } from "./endpoints/conversations.ts";
import { countOperations } from "./endpoints/count-tokens.ts";
import { fileOperations } from "./endpoints/files.ts";
import { googleModelOperations, otherFormat } from "./endpoints/google-models.ts";
import { messageBatchOperations } from "./endpoints/message-batches.ts";
import { listModelsOperation, showModelOperation } from "./endpoints/models.ts";
import { pathMethodOperations } from "./endpoints/path-methods.ts";
import { storedResponseOperations } from "./endpoints/stored-responses.ts";
import { usageOperation } from "./endpoints/usage-summary.ts";
import {
  chargedCodes,
  chargedHeaders,
  type ServedOperation,
  type ServedRoute,
} from "./exchange/served-operation.ts";
import { generate } from "./generate.ts";
import { serveMetered } from "./metered/serve.ts";
import { webSocketOperation } from "./socket/operation.ts";
import { storedDialect } from "./turns/storage-settings.ts";

const charged = { method: "POST", needsKey: true, isCharged: true, headers: chargedHeaders } as const;
/** Charged operations beyond the interface. */
const chargedExtension = { ...charged, errors: plainErrors, keyHeader: null, dialect: null } as const;

/** Replaces a conversation by a short one: by its provider's own means, or by a summary that only the gateway can read. */
const compactOperation: ServedOperation = {
  ...chargedExtension,
  path: "/v1/responses/compact",
  switchedBy: "compact",
  tracedAs: "chat",
  eventDialect: storedDialect,
  codes: [...chargedCodes, "previous_response_not_found", "invalid_encrypted_content"],
  description: {
    operationId: "compactResponse",
    summary: "Compact a conversation",
    headers: ["Idempotency-Key"],
    request: "CompactRequest",
    response: "CompactResponse",
    schemas: { CompactRequest: compactRequest, CompactResponse: compactResponse },
  },
  run: (gateway, exchange) => generate(gateway, exchange, storedDialect, "compact"),
};

/** All that the interface offers, in the order of its document, and then what is beyond it. */
export const operations: readonly ServedOperation[] = [
  listModelsOperation,
  showModelOperation,
  ...clientDialectNames.filter((name) => clientDialect(name).inPath === undefined).map(generation),
  ...countOperations.filter(({ switchedBy }) => switchedBy === undefined),
  usageOperation,
  ...storedResponseOperations,
  ...conversationOperations,
  ...fileOperations,
  ...batchOperations,
  ...messageBatchOperations,
  compactOperation,
  webSocketOperation,
  ...countOperations.filter(({ switchedBy }) => switchedBy !== undefined),
  ...meteredRouteNames.flatMap(metered),
  ...pathMethodOperations,
  ...googleModelOperations,
];

/** Every operation on both origins. */
export const routes: readonly ServedRoute[] = operations.flatMap((operation) =>
  keyModes.map((mode) => {
    const onOrigin = { mode, path: modeOrigins[mode] + operation.path };
    const other = otherFormat(operation);
    const route = { ...operation, ...onOrigin };
    return other === null ? route : { ...route, otherFormat: { ...other, ...onOrigin } };
  }),
);

function generation(name: ClientDialectName): ServedOperation {
  const { route, operation, errorFormat, timeoutCode } = clientDialect(name);
  return {
    ...charged,
    ...route,
    errors: errorFormat,
    dialect: name,
    use: "generation",
    tracedAs: "chat",
    codes: [...new Set([...chargedCodes, timeoutCode])],
    description: {
      ...operation,
      headers: ["Idempotency-Key", ...(operation.headers ?? [])],
    },
    run: (gateway, exchange) => generate(gateway, exchange, name),
  };
}

/** A metered route under all of its paths. */
function metered(name: MeteredRouteName): ServedOperation[] {
  const { paths, operation, switchedBy, use, tracedAs, streams } = meteredRoute(name);
  return paths.map((path) => ({
    ...chargedExtension,
    path,
    switchedBy,
    use,
    tracedAs,
    ...(streams?.dialect === undefined ? {} : { eventDialect: streams.dialect }),
    codes: chargedCodes,
    headers: [...chargedHeaders, "x-sluice-model", "x-sluice-units", "x-sluice-content"],
    description: { ...operation, headers: ["Idempotency-Key"] },
    run: (gateway, exchange) => serveMetered(gateway, exchange, name),
  }));
}
