import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";

export interface Conclusion {
  /** What the client was answered. */
  readonly status: number;
  readonly outcome: "completed" | "failed" | "cancelled" | "refused" | "replayed";
  readonly error: unknown;
}

/** Called once when an exchange is over: tells the observers, and keeps why it did not complete. */
export function conclude(gateway: Gateway, exchange: Exchange, { status, outcome, error }: Conclusion): void {
  gateway.observe(exchange.facts(status, outcome, error));
  if (outcome === "completed" || outcome === "replayed" || exchange.key === null || exchange.isEndingKept)
    return;
  gateway.endings.take(exchange.ending(outcome, status, error));
}
