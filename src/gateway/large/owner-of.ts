import type { Exchange } from "../exchange.ts";
import type { JobOwner } from "./jobs.ts";

/** The key of an exchange, for as long as somebody waits for its answer. */
export function ownerOf(exchange: Exchange, keyId: string): JobOwner {
  return {
    keyId,
    get isOver() {
      return exchange.isOver;
    },
  };
}
