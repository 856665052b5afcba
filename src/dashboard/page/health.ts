import type { DeploymentView } from "../../admin/models/schema.ts";

const stateText = {
  half_open: { tone: "warn", text: "retrying" },
  cooling: { tone: "warn", text: "cooling down" },
  open: { tone: "bad", text: "breaker open" },
} as const;

/** Problems that need an operator. An alarm stays until the deployment responds again. */
const wordsByAlarm: Readonly<Record<string, string>> = {
  billing: "billing problem",
  no_credential: "no credential",
  expired_certificate: "certificate expired",
  bad_certificate: "certificate not trusted",
  status_401: "invalid credentials",
  status_403: "invalid credentials",
  status_404: "unknown model",
};

function alarmText(alarm: string): string {
  return wordsByAlarm[alarm] ?? "requests rejected";
}

/**
 * The health of a deployment as text. A closed breaker only means that the deployment gets requests, not that they succeed.
 * Without recent attempts its health is unknown.
 */
export function healthText(health: DeploymentView["health"]): {
  readonly tone: "good" | "warn" | "bad" | "muted";
  readonly text: string;
} {
  const { alarm, state, keys, keys_ready: ready } = health;
  const { recent_attempts: attempts, recent_failures: failures } = health;
  if (alarm !== null) return { tone: "bad", text: alarmText(alarm) };
  if (state !== "closed") return stateText[state];
  if (keys > 0 && ready === 0) return { tone: "bad", text: "no credential ready" };
  if (failures > 0 && failures * 2 >= attempts) return { tone: "bad", text: "failing" };
  return attempts === 0 ? { tone: "muted", text: "idle" } : { tone: "good", text: "healthy" };
}
