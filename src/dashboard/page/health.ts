import type { DeploymentView } from "../../admin/views.ts";

const stateWords = {
  half_open: { tone: "warn", text: "trying again" },
  cooling: { tone: "warn", text: "cooling down" },
  open: { tone: "bad", text: "breaker open" },
} as const;

/**
 * The health of a deployment in words. A closed breaker means that it is asked, and not yet that it answers; of one that
 * nobody has asked, nothing is known.
 */
export function healthWords(health: DeploymentView["health"]): {
  readonly tone: "good" | "warn" | "bad" | "muted";
  readonly text: string;
} {
  const { state, keys, keys_ready: ready, recent_attempts: attempts, recent_failures: failures } = health;
  if (state !== "closed") return stateWords[state];
  if (keys > 0 && ready === 0) return { tone: "bad", text: "no credential ready" };
  if (failures > 0 && failures * 2 >= attempts) return { tone: "bad", text: "failing" };
  return attempts === 0 ? { tone: "muted", text: "not asked lately" } : { tone: "good", text: "healthy" };
}
