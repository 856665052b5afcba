import type { StreamRelayer } from "./stream-relayer.ts";

/** How long a complete answer may go without its end of stream; longer while usage may still follow. */
const overdueMs = 1000;
const overdueWithoutUsageMs = 5000;

/** Whether a provider has gone silent after a complete answer. Some servers never close the stream. */
export function isEndOverdue(
  relayer: Pick<StreamRelayer, "started" | "partialUsage" | "isComplete">,
  silenceMs: number,
): boolean {
  if (silenceMs < (relayer.partialUsage === null ? overdueWithoutUsageMs : overdueMs)) return false;
  return relayer.started && relayer.isComplete();
}
