import type { Directory } from "./directory.ts";
import type { DeploymentHealth } from "./upstream.ts";

/** Every deployment's health, for operators. */
export function healthOf(directory: Directory, nowMs: number): DeploymentHealth[] {
  return Array.from(
    directory.states(),
    ({ name, providerState, breaker, inFlight, gate, waitingForCoolDown }) => {
      const { calls, failures } = breaker.recent(nowMs);
      return {
        name,
        provider: providerState.provider.settings.name,
        state: breaker.state(nowMs),
        waitMs: Math.ceil(breaker.waitMs(nowMs)),
        consecutiveFailures: breaker.consecutiveFailures,
        recentCalls: calls,
        recentFailures: failures,
        inFlight,
        waiting: (gate?.waiting ?? 0) + waitingForCoolDown,
        keys: providerState.keys.size,
        keysReady: providerState.keys.ready(nowMs),
      };
    },
  );
}
