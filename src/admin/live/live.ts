import type { Clock } from "../../base/clock.ts";
import { Gates } from "../../limits/concurrency.ts";
import { EventLoopLag } from "../../observe/event-loop-lag.ts";
import type { ExchangeFacts } from "../../observe/exchange.ts";
import { Metrics } from "../../observe/metrics.ts";
import { ExchangeFeed } from "./feed.ts";

/** Maximum live tails per viewer. Each receives every finished exchange. */
const maxTails = 10;

/** Observes exchanges for metrics and the live tail. `observe` is called once at the end of each. */
export class Live {
  readonly metrics = new Metrics();
  readonly feed = new ExchangeFeed();
  readonly tails = new Gates({ limit: maxTails, queueLimit: 0, waitMs: 0 });
  readonly lag = new EventLoopLag();
  readonly #clock: Clock;
  readonly #startedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  get uptimeMs(): number {
    return this.#clock.monotonicMs() - this.#startedMs;
  }

  readonly observe = (facts: ExchangeFacts): void => {
    this.metrics.observe(facts);
    this.feed.observe(facts);
  };

  close(): void {
    this.lag.stop();
    this.feed.close();
  }
}
