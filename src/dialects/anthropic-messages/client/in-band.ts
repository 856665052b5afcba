import type { GatewayError } from "../../../base/errors.ts";
import { errorBody } from "../../errors/envelope.ts";
import { keepaliveComment } from "../../sse/frame.ts";

export function inBandError(error: GatewayError, requestId: string): string {
  return `event: error\ndata: ${JSON.stringify(errorBody("anthropic", error, requestId))}\n\n`;
}

export function heartbeat(hasBegun: boolean): string {
  return hasBegun ? 'event: ping\ndata: {"type":"ping"}\n\n' : keepaliveComment;
}
