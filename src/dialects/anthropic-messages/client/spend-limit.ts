import type { GatewayError } from "../../../base/errors.ts";
import { isObject } from "../../../base/json.ts";
import type { RenderedError } from "../../errors/envelope.ts";

const prefix = "anthropic-ratelimit-unified-";
const periods: Readonly<Record<string, string>> = { day: "daily", week: "weekly", month: "monthly" };

/**
 * A used-up limit in the form that Claude Code shows as it is. Without these headers it says "Server is temporarily
 * limiting requests (not your usage limit)" before our message. `representative-claim` and `overage-status` must be absent.
 */
export function asSpendLimit(rendered: RenderedError, error: GatewayError): RenderedError {
  const details = error.vendor?.details ?? {};
  const resetMs = Date.parse(String(details["resets_at"]));
  const period = periods[String(details["period"])];
  const reset = String(Math.ceil(resetMs / 1000));
  const body: unknown = JSON.parse(rendered.body);
  if (isObject(body) && isObject(body["error"])) body["error"] = { ...body["error"], type: "billing_error" };
  return {
    ...rendered,
    headers: {
      ...rendered.headers,
      [`${prefix}status`]: "rejected",
      ...(Number.isNaN(resetMs) ? {} : { [`${prefix}reset`]: reset, [`${prefix}overage-reset`]: reset }),
      [`${prefix}overage-utilization`]: "1",
      [`${prefix}overage-surpassed-threshold`]: "1",
      ...(period === undefined ? {} : { [`${prefix}overage-period`]: period }),
      [`${prefix}overage-disabled-reason`]: "org_spend_cap_reached",
    },
    body: JSON.stringify(body),
  };
}
