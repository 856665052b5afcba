import type { Directory } from "./directory.ts";
import type { DeploymentHealth } from "./upstream.ts";

/** How every deployment is doing, for operators. */
export function healthOf(directory: Directory, nowMs: number): DeploymentHealth[] {
  return Array.from(directory.standings(), ({ name, account, breaker, inFlight, gate, pausing }) => {
    const { calls, failures } = breaker.recent(nowMs);
    return {
      name,
      provider: account.provider.settings.name,
      state: breaker.state(nowMs),
      waitMs: Math.ceil(breaker.waitMs(nowMs)),
      consecutiveFailures: breaker.consecutiveFailures,
      recentCalls: calls,
      recentFailures: failures,
      inFlight,
      waiting: (gate?.waiting ?? 0) + pausing,
      keys: account.keys.size,
      keysReady: account.keys.ready(nowMs),
    };
  });
}
