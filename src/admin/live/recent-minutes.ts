import { totalInput, type Usage } from "../../base/usage.ts";
import type { ExchangeFacts } from "../../observe/exchange.ts";
import { Histogram } from "../../observe/histogram.ts";

const msPerMinute = 60_000;
/** Twice what the shortest chart shows, because it compares with the time before. */
export const minutesKept = 120;

export class MinuteSums {
  readonly firstByte = new Histogram();
  readonly total = new Histogram();
  minute = -1;
  requests = 0;
  errors = 0;
  inputTokens = 0;
  outputTokens = 0;
  spentNano = 0;
}

/** What is added up of an exchange, whether it just ended or was read back from the store. */
interface Counted {
  readonly atMs: number;
  readonly failed: boolean;
  readonly usage: Usage | null;
  readonly spentNano: number;
  readonly firstByteMs: number | null;
  readonly totalMs: number;
}

/**
 * The last two hours by the minute. The store adds usage up by the hour, which is too coarse for the shortest
 * chart; reading single exchanges back for every look would stall the streams of a busy gateway.
 */
export class RecentMinutes {
  readonly #ring = Array.from({ length: minutesKept }, () => new MinuteSums());

  readonly observe = (facts: ExchangeFacts): void => {
    const failed = facts.outcome === "failed";
    const recorded = facts.usage !== null && (failed || facts.outcome === "completed");
    if (!recorded && !failed) return;
    this.add({
      atMs: facts.atMs,
      failed,
      usage: recorded ? facts.usage : null,
      spentNano: facts.route.startsWith("/token/") ? 0 : facts.charged,
      firstByteMs: facts.firstByteMs,
      totalMs: facts.totalMs,
    });
  };

  add({ atMs, failed, usage, spentNano, firstByteMs, totalMs }: Counted): void {
    const sums = this.#sumsOf(Math.floor(atMs / msPerMinute));
    if (sums === null) return;
    if (failed) sums.errors += 1;
    sums.total.add(totalMs);
    if (usage === null) return;
    sums.requests += 1;
    sums.inputTokens += totalInput(usage);
    sums.outputTokens += usage.outputTokens;
    sums.spentNano += spentNano;
    if (firstByteMs !== null) sums.firstByte.add(firstByteMs);
  }

  /** Minutes in order, both ends included; null where nothing happened. */
  between(fromMinute: number, throughMinute: number): readonly (MinuteSums | null)[] {
    return Array.from({ length: throughMinute - fromMinute + 1 }, (_, place) => {
      const minute = fromMinute + place;
      const sums = this.#ring[minute % minutesKept];
      return sums?.minute === minute ? sums : null;
    });
  }

  /** Null for a minute that has left the ring already. */
  #sumsOf(minute: number): MinuteSums | null {
    const place = minute % minutesKept;
    const known = this.#ring[place];
    if (known !== undefined && known.minute >= minute) return known.minute === minute ? known : null;
    const fresh = new MinuteSums();
    fresh.minute = minute;
    this.#ring[place] = fresh;
    return fresh;
  }
}
