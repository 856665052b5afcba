import type { Replay } from "../exchange/claims.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { bodyResponse } from "./body-response.ts";
import { commonHeaders } from "./headers.ts";

/** The stored bytes again; nothing is charged. */
export function replay(exchange: Exchange, claimed: Replay): Response {
  exchange.isReplay = true;
  // It was recorded when it was first sent.
  exchange.taken.content = null;
  const { body, status, headers: stored } = claimed.response;
  const headers = { ...commonHeaders(exchange), ...stored, "idempotent-replayed": "true" };
  return bodyResponse(exchange, [body], { status, headers });
}
