import type { StreamRelayer } from "./stream-relayer.ts";

/** How long a provider may be silent after a complete answer without ending its stream; longer if usage may follow. */
const overdueMs = 1000;
const overdueWithoutUsageMs = 5000;

/** Notices that a provider has fallen silent after a complete answer: some servers keep the connection open, and never end it. */
export class ForgottenEnd {
  readonly #relayer: Pick<StreamRelayer, "started" | "partialUsage" | "isComplete">;
  /** When the silence began that was looked into. */
  #lookedIntoMs = Number.NEGATIVE_INFINITY;

  constructor(relayer: Pick<StreamRelayer, "started" | "partialUsage" | "isComplete">) {
    this.#relayer = relayer;
  }

  /** Whether the end is overdue. Looked for once per silence, because it may mean to read the whole answer. */
  isOverdue(silentSinceMs: number, nowMs: number): boolean {
    const silenceMs = nowMs - silentSinceMs;
    if (silenceMs < overdueMs || this.#lookedIntoMs === silentSinceMs) return false;
    if (silenceMs < overdueWithoutUsageMs && this.#relayer.partialUsage === null) return false;
    this.#lookedIntoMs = silentSinceMs;
    return this.#relayer.started && this.#relayer.isComplete();
  }
}
