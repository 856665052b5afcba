import type { Clock } from "../base/clock.ts";
import { Repeating } from "../base/loop/repeating.ts";
import type { Store } from "./store.ts";

export interface RetentionLimits {
  readonly requestsMs: number;
  readonly requestRows: number;
}

export interface RequestLogRetentionOptions {
  readonly store: Pick<
    Store,
    "pruneRequestLog" | "pruneCallerIds" | "pruneCapValues" | "recordPruning" | "reports"
  >;
  readonly clock: Clock;
  /** Read each time, because a reload may change them. */
  limits(): RetentionLimits;
  onError(error: unknown): void;
}

const everyMs = 60_000;
/** Takes about 3 ms to delete. */
const prunedAtOnce = 200;
/** Pause between two steps. Records that the sums do not include yet cannot be deleted, so they are retried after it. */
const pauseMs = 50;

/**
 * Deletes request-log rows and clients' own request ids beyond the retention limits, and what caps counted of each value
 * in ended periods, a few at a time.
 */
export class RequestLogRetention {
  readonly #options: RequestLogRetentionOptions;
  readonly #timer = new Repeating();
  #isStopped = false;

  constructor(options: RequestLogRetentionOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer.start(everyMs, () => this.prune().catch(this.#options.onError));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#timer.stop();
  }

  /** Resolves when nothing exceeds the limits. */
  async prune(): Promise<void> {
    await this.#pruneRequestLog();
    await this.#pruneCallerIds();
    await this.#pruneCapValues();
  }

  async #pruneCapValues(): Promise<void> {
    const { store, clock } = this.#options;
    while (!this.#isStopped) {
      if ((await store.pruneCapValues(clock.wallMs(), prunedAtOnce)) < prunedAtOnce) return;
      await Bun.sleep(pauseMs);
    }
  }

  /** Clients' own ids are useless once the request is deleted. */
  async #pruneCallerIds(): Promise<void> {
    const { store, clock, limits } = this.#options;
    while (!this.#isStopped) {
      const { requestsMs, requestRows: keep } = limits();
      const beforeMs = clock.wallMs() - requestsMs;
      if ((await store.pruneCallerIds({ beforeMs, keep, limit: prunedAtOnce })) < prunedAtOnce) return;
      await Bun.sleep(pauseMs);
    }
  }

  async #pruneRequestLog(): Promise<void> {
    const { store, clock, limits } = this.#options;
    let [firstId, endId]: (number | null)[] = [null, null];
    while (!this.#isStopped) {
      const { requestsMs, requestRows: keep } = limits();
      const beforeMs = clock.wallMs() - requestsMs;
      const kept = await store.reports.requestLogSize();
      firstId ??= kept.firstId;
      // If none remain, the last one was deleted.
      const keptFrom: number = kept.count === 0 ? (endId ?? kept.firstId) : kept.firstId;
      endId = keptFrom + kept.count;
      const isWithin = kept.oldestAtMs === null || (kept.oldestAtMs >= beforeMs && kept.count <= keep);
      if (!isWithin) {
        await store.pruneRequestLog({ beforeMs, keep, limit: prunedAtOnce });
        await Bun.sleep(pauseMs);
        continue;
      }
      const pruned = keptFrom - firstId;
      if (pruned > 0) await store.recordPruning({ what: "exchanges", atMs: clock.wallMs(), pruned });
      return;
    }
  }
}
