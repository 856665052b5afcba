import type { GatewayError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import type { AgentCaller, RenderedError } from "../errors/envelope.ts";

/** Codex waits as long as `retry-after` says, and shows nothing meanwhile. */
const maxWaitSeconds = 60;

/**
 * An error for Codex, which names itself in `originator`. It shows a used-up limit at once, with the time at which it resets and the
 * text of the header, if it has this type. It sleeps through any other 429.
 */
export function forCodex(
  rendered: RenderedError,
  { code, message, vendor, retryAfterSeconds }: GatewayError,
  { originator }: AgentCaller,
): RenderedError {
  if (originator?.toLowerCase().startsWith("codex") !== true) return rendered;
  const headers = { ...rendered.headers };
  if (retryAfterSeconds !== undefined)
    headers["retry-after"] = String(Math.min(retryAfterSeconds, maxWaitSeconds));
  if (code !== "limit_reached") return { ...rendered, headers };
  headers["x-codex-promo-message"] = message.replace(/\.$/, "").replace(/[^\x20-\x7e]/g, "?");
  const resetMs = Date.parse(String(vendor?.details?.["resets_at"]));
  const resets_at = Number.isNaN(resetMs) ? {} : { resets_at: Math.ceil(resetMs / 1000) };
  const body: unknown = JSON.parse(rendered.body);
  if (isObject(body) && isObject(body["error"]))
    body["error"] = { ...body["error"], type: "usage_limit_reached", ...resets_at };
  return { ...rendered, headers, body: JSON.stringify(body) };
}
