import type { Clock } from "../../base/clock.ts";
import { EventLoopLag } from "../../observe/event-loop-lag.ts";
import type { ExchangeFacts } from "../../observe/exchange.ts";
import { Metrics } from "../../observe/metrics.ts";
import type { Store } from "../../store/store.ts";
import { ExchangeFeed } from "./feed.ts";
import { minutesKept, RecentMinutes } from "./recent-minutes.ts";

const msPerMinute = 60_000;
/** Reading back more than this would take long, and a chart is none the wiser for it. */
const mostReadBack = 20_000;

/** Everything that watches exchanges for the operator's sake. `observe` is called once at the end of each. */
export class Live {
  readonly metrics = new Metrics();
  readonly feed = new ExchangeFeed();
  readonly minutes = new RecentMinutes();
  readonly lag = new EventLoopLag();
  readonly startedAtMs: number;
  readonly #clock: Clock;
  #readBack: Promise<void> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.startedAtMs = clock.wallMs();
  }

  readonly observe = (facts: ExchangeFacts): void => {
    this.metrics.observe(facts);
    this.minutes.observe(facts);
    this.feed.observe(facts);
  };

  /** What the process before this one has seen of the last two hours, read once, when somebody first looks. */
  readBack(store: Store): Promise<void> {
    this.#readBack ??= this.#readMinutes(store);
    return this.#readBack;
  }

  close(): void {
    this.lag.stop();
    this.feed.close();
  }

  async #readMinutes(store: Store): Promise<void> {
    const sinceMs = this.#clock.wallMs() - minutesKept * msPerMinute;
    if (sinceMs > this.startedAtMs) return;
    const { rows } = await store.reports.exchanges({ limit: mostReadBack, sinceMs });
    for (const record of rows) {
      if (record.atMs >= this.startedAtMs) continue;
      this.minutes.add({ ...record, failed: record.outcome === "failed", spentNano: record.costNano });
    }
  }
}
