import type { AttemptView, ExchangeView } from "../../../admin/requests/schema.ts";

/** A part of the time that a request took. */
export interface Phase {
  readonly name: string;
  readonly kind: "queue" | "attempt" | "failed" | "stream" | "settle";
  readonly startMs: number;
  readonly ms: number;
}

type TriedDeployment = Pick<AttemptView, "deployment" | "failure" | "duration_ms">;
type Times = Pick<ExchangeView, "first_byte_ms" | "total_ms" | "stream" | "provider" | "upstream_model">;

/**
 * The phases of a request: before a provider was called (reading, waiting for a slot, pauses between attempts), each
 * attempt until its first byte, the response itself, and the charge. Phases that took no time are skipped.
 */
export function phasesOf(
  times: Times,
  attempts: readonly TriedDeployment[],
  settleMs: number | null,
): readonly Phase[] {
  const { first_byte_ms: firstByteMs, total_ms: totalMs } = times;
  if (totalMs === null) return [];
  const replyMs = Math.min(firstByteMs ?? totalMs, totalMs);
  const tried = attempts.length > 0 ? attempts : impliedAttempt(times, replyMs);
  const triedMs = tried.reduce((sum, { duration_ms: ms }) => sum + ms, 0);
  const parts: readonly Omit<Phase, "startMs">[] = [
    { name: "Queue", kind: "queue", ms: Math.max(0, replyMs - triedMs) },
    ...tried.map(({ deployment, failure, duration_ms: ms }) => ({
      name: failure === null ? `${deployment}, first byte` : `${deployment}, ${failure}`,
      kind: failure === null ? ("attempt" as const) : ("failed" as const),
      ms,
    })),
    { name: times.stream ? "Stream" : "Response", kind: "stream", ms: totalMs - replyMs },
    { name: "Settle", kind: "settle", ms: settleMs ?? 0 },
  ];
  let startMs = 0;
  const phases = parts.map((part) => {
    const phase = { ...part, startMs };
    startMs += part.ms;
    return phase;
  });
  return phases.filter(({ ms }) => ms > 0);
}

/** A request whose first attempt succeeded keeps no list of attempts. */
function impliedAttempt({ provider, upstream_model: model }: Times, ms: number): readonly TriedDeployment[] {
  return provider === "" ? [] : [{ deployment: `${provider}/${model}`, failure: null, duration_ms: ms }];
}
