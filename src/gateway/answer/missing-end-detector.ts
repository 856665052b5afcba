import type { StreamRelayer } from "./stream-relayer.ts";

/** How long a complete answer may go without its end of stream; longer while usage may still follow. */
const overdueMs = 1000;
const overdueWithoutUsageMs = 5000;

/** Detects a provider that has gone silent after a complete answer. Some servers never close the stream. */
export class MissingEndDetector {
  readonly #relayer: Pick<StreamRelayer, "started" | "partialUsage" | "isComplete">;
  /** Start of the last silence that was checked. */
  #lookedIntoMs = Number.NEGATIVE_INFINITY;

  constructor(relayer: Pick<StreamRelayer, "started" | "partialUsage" | "isComplete">) {
    this.#relayer = relayer;
  }

  /** Checked once per silence, because it may have to read the whole answer. */
  isOverdue(silentSinceMs: number, nowMs: number): boolean {
    const silenceMs = nowMs - silentSinceMs;
    if (silenceMs < overdueMs || this.#lookedIntoMs === silentSinceMs) return false;
    if (silenceMs < overdueWithoutUsageMs && this.#relayer.partialUsage === null) return false;
    this.#lookedIntoMs = silentSinceMs;
    return this.#relayer.started && this.#relayer.isComplete();
  }
}
