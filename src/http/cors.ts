/*
 * Cross-origin requests (`server.cors_origins`): pages of the listed origins may call the interface from a browser.
 * Credentials in the browser's sense, cookies, are never allowed; a key is sent in a header. Not used by the
 * admin side.
 */

/** The response to a preflight; null if the request is not one, or its origin is not allowed. */
export function preflightResponse(
  allowed: readonly string[],
  request: Request,
  methods: string,
): Response | null {
  if (request.method !== "OPTIONS" || !request.headers.has("access-control-request-method")) return null;
  const origin = allowedOrigin(allowed, request);
  if (origin === null) return null;
  const requestedHeaders = request.headers.get("access-control-request-headers");
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": methods,
      ...(requestedHeaders !== null && headerNames.test(requestedHeaders)
        ? { "access-control-allow-headers": requestedHeaders }
        : {}),
      "access-control-max-age": String(maxAgeSeconds),
      vary: "origin, access-control-request-headers",
    },
  });
}

/** Lets the page of an allowed origin read the response. */
export function markCors(allowed: readonly string[], request: Request, response: Response): Response {
  const origin = allowedOrigin(allowed, request);
  if (origin !== "*") response.headers.append("vary", "origin");
  if (origin === null) return response;
  response.headers.set("access-control-allow-origin", origin);
  response.headers.set("access-control-expose-headers", exposed);
  return response;
}

function allowedOrigin(allowed: readonly string[], request: Request): string | null {
  const origin = request.headers.get("origin");
  if (origin !== null && allowed.includes(origin)) return origin;
  return allowed.includes("*") ? "*" : null;
}

/** How long a browser caches a preflight. */
const maxAgeSeconds = 600;

const headerNames = /^[\w!#$%&'*+.^`|~, -]{1,4000}$/;

/** Response headers that a page may read in addition to the ones that are always readable. */
const exposed = [
  "x-request-id",
  "request-id",
  "retry-after",
  "x-should-retry",
  "idempotent-replayed",
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
  "x-ratelimit-limit-tokens",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-tokens",
  "anthropic-ratelimit-requests-limit",
  "anthropic-ratelimit-requests-remaining",
  "anthropic-ratelimit-requests-reset",
  "anthropic-ratelimit-tokens-limit",
  "anthropic-ratelimit-tokens-remaining",
  "anthropic-ratelimit-tokens-reset",
  "x-service-credit-remaining",
  "x-sluice-cost",
  "x-sluice-count",
  "x-sluice-dropped",
  "x-sluice-model",
  "x-sluice-units",
  "x-sluice-content",
  "x-sluice-idempotency",
  "openai-model",
  "openai-processing-ms",
  "openai-version",
].join(", ");
