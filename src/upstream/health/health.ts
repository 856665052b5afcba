import type { DeploymentHealth } from "../upstream.ts";
import type { DeploymentState } from "./deployment-state.ts";

/** Every deployment's health, for operators. */
export function healthOf(states: Iterable<DeploymentState>, nowMs: number): DeploymentHealth[] {
  return Array.from(states, (state) => {
    const { name, providerState, breaker, inFlight, alarm, failing, gate, waitingForCoolDown } = state;
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
      alarm,
      failing,
      waiting: (gate?.waiting ?? 0) + waitingForCoolDown,
      keys: providerState.keys.size,
      keysReady: providerState.keys.ready(nowMs),
    };
  });
}
