import type { GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { Usage } from "../../../base/usage.ts";
import type { StreamPosition } from "../../client-dialect.ts";
import { errorBody } from "../../errors/envelope.ts";
import { keepaliveComment, namedFrame } from "../../sse/sse.ts";
import { writeUsage } from "./response-out.ts";

/**
 * A message begins with an estimate of its input, or with what the provider has counted by then. So what was charged
 * follows, without a reason to stop: the answer has not ended.
 */
export function inBandError(
  error: GatewayError,
  requestId: string,
  { hasBegun, usage }: Pick<StreamPosition, "hasBegun" | "usage">,
): string {
  const charged = usage === null || !hasBegun ? "" : usageFrame(usage);
  return charged + namedFrame("error", JSON.stringify(errorBody("anthropic", error, requestId)));
}

function usageFrame(usage: Usage): string {
  const delta = { stop_reason: null, stop_sequence: null };
  return eventFrame({ type: "message_delta", delta, usage: writeUsage(usage, null) });
}

export function heartbeat(hasBegun: boolean): string {
  return hasBegun ? 'event: ping\ndata: {"type":"ping"}\n\n' : keepaliveComment;
}

/** An event of a Messages stream, which is named by its type. */
export function eventFrame(event: JsonObject & { readonly type: string }): string {
  return namedFrame(event.type, JSON.stringify(event));
}
