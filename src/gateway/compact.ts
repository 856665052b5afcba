import { compactRequest, compactResponse } from "../dialects/openai-responses/client/schema.ts";
import { clientDialect } from "../dialects/registry.ts";
import { generate } from "./generate.ts";
import { chargedCodes, chargedHeaders, type ServedOperation } from "./served-operation.ts";

const client = "responses";

/** Replaces a conversation by a short one: by its provider's own means, or by a summary that only the gateway can read. */
export const compactOperation: ServedOperation = {
  method: "POST",
  path: "/v1/responses/compact",
  switchedBy: "compact",
  errors: clientDialect(client).errorFormat,
  acceptsApiKeyHeader: false,
  dialect: null,
  needsKey: true,
  isCharged: true,
  tracedAs: "chat",
  codes: [...chargedCodes, "previous_response_not_found", "invalid_encrypted_content"],
  headers: chargedHeaders,
  description: {
    operationId: "compactResponse",
    summary: "Compact a conversation",
    headers: ["Idempotency-Key"],
    request: "CompactRequest",
    response: "CompactResponse",
    schemas: { CompactRequest: compactRequest, CompactResponse: compactResponse },
  },
  run: (gateway, exchange) => generate(gateway, exchange, client, "compact"),
};
