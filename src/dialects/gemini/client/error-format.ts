import { Type } from "@sinclair/typebox";
import type { ErrorStatus, GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { ErrorFormat } from "../../errors/envelope.ts";
import { readTokenLimit } from "../../errors/error-body.ts";
import { openAiLimits } from "../../errors/rate-limits.ts";
import { arrayOfObjects } from "../../schema/fields.ts";

const schema = Type.Object({
  error: Type.Object({
    code: Type.Integer(),
    message: Type.String(),
    status: Type.String(),
    details: arrayOfObjects,
  }),
});

/** Google's errors: https://cloud.google.com/apis/design/errors */
export const googleErrors: ErrorFormat = {
  title: "Google",
  schemaName: "GoogleError",
  schema,
  served:
    "Served are generateContent, streamGenerateContent, countTokens, embedContent, batchEmbedContents and the list of models, not files, caches, batches, tuning, Live and interactions.",
  requestIdHeaders: ["x-request-id"],
  rateLimits: openAiLimits,
  body: (error, requestId) => ({
    error: {
      code: error.status,
      message: messageOf(error),
      status: statuses[error.status],
      details: detailsOf(error, requestId),
    },
  }),
};

const statuses: Readonly<Record<ErrorStatus, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  409: "ABORTED",
  426: "FAILED_PRECONDITION",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** Clients match this sentence to shorten the conversation. */
function messageOf({ code, message }: GatewayError): string {
  const limit = code === "context_length_exceeded" ? readTokenLimit(message) : null;
  if (limit === null) return message;
  return `The input token count (${limit.needed}) exceeds the maximum number of tokens allowed (${limit.maximum}).`;
}

function typed(name: string, fields: JsonObject): JsonObject {
  return { "@type": `type.googleapis.com/google.rpc.${name}`, ...fields };
}

function detailsOf(error: GatewayError, requestId: string): JsonObject[] {
  const { status, code, param, message, retryAfterSeconds, vendor } = error;
  const reason = status === 401 ? "API_KEY_INVALID" : code.toUpperCase();
  const facts = Object.entries(vendor?.details ?? {}).map(([name, value]) => [name, String(value)]);
  const metadata = { request_id: requestId, ...Object.fromEntries(facts) };
  const details = [typed("ErrorInfo", { reason, domain: "sluice", metadata })];
  if (status === 400 && param !== undefined)
    details.push(typed("BadRequest", { fieldViolations: [{ field: param, description: message }] }));
  // Gemini CLI gives up at a quota per day, and retries at any other 429.
  if (code === "limit_reached")
    details.push(typed("QuotaFailure", { violations: [{ quotaId: "SluicePerDay", description: message }] }));
  if (retryAfterSeconds !== undefined && (status === 429 || status === 503))
    details.push(typed("RetryInfo", { retryDelay: `${retryAfterSeconds}s` }));
  return details;
}
