import type { StreamRelayer } from "./stream-relayer.ts";

/** How long a complete response can wait for its end of stream; longer while usage may still follow. */
const overdueMs = 1000;
const overdueWithoutUsageMs = 5000;

/** Whether a provider has gone silent after a complete response. Some servers never close the stream. */
export function isEndOverdue(
  { meter, isComplete }: Pick<StreamRelayer, "meter" | "isComplete">,
  silenceMs: number,
): boolean {
  if (silenceMs < (meter.partialUsage === null ? overdueWithoutUsageMs : overdueMs)) return false;
  return meter.started && isComplete;
}
