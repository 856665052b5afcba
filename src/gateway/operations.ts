import { keyModes, modeOrigins } from "../base/key-attributes.ts";
import { type ClientDialectName, clientDialect, clientDialectNames } from "../dialects/registry.ts";
import { compactOperation } from "./compact.ts";
import { countTokensOperation, inputTokensOperation } from "./count-tokens.ts";
import { generate } from "./generate.ts";
import { meteredOperations } from "./metered/operations.ts";
import { listModelsOperation, showModelOperation } from "./models.ts";
import { chargedCodes, chargedHeaders, type ServedOperation, type ServedRoute } from "./served-operation.ts";
import { webSocketOperation } from "./socket/operation.ts";
import { conversationOperations } from "./turns/conversation-operations.ts";
import { storedResponseOperations } from "./turns/operations.ts";
import { usageOperation } from "./usage-summary.ts";

/** All that the interface offers, in the order of its document, and then what is beyond it. */
export const operations: readonly ServedOperation[] = [
  listModelsOperation,
  showModelOperation,
  ...clientDialectNames.map(generation),
  countTokensOperation,
  usageOperation,
  ...storedResponseOperations,
  ...conversationOperations,
  compactOperation,
  webSocketOperation,
  inputTokensOperation,
  ...meteredOperations,
];

/** Every operation on both origins. */
export const routes: readonly ServedRoute[] = operations.flatMap((operation) =>
  keyModes.map((mode) => ({ ...operation, mode, path: modeOrigins[mode] + operation.path })),
);

function generation(name: ClientDialectName): ServedOperation {
  const { route, operation, errorFormat, timeoutCode } = clientDialect(name);
  return {
    method: "POST",
    ...route,
    errors: errorFormat,
    dialect: name,
    use: "generation",
    needsKey: true,
    isCharged: true,
    tracedAs: "chat",
    codes: [...new Set([...chargedCodes, timeoutCode])],
    headers: chargedHeaders,
    description: {
      ...operation,
      headers: ["Idempotency-Key", ...(operation.headers ?? [])],
    },
    run: (gateway, exchange) => generate(gateway, exchange, name),
  };
}
