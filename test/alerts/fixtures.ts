import type { DeploymentHealth } from "../../src/upstream/upstream.ts";

/** A deployment that is well, unless told otherwise. */
export function deploymentHealth(overrides: Partial<DeploymentHealth>): DeploymentHealth {
  return {
    name: "openai/gpt",
    provider: "openai",
    state: "closed",
    waitMs: 0,
    consecutiveFailures: 0,
    recentCalls: 0,
    recentFailures: 0,
    inFlight: 0,
    alarm: null,
    failing: null,
    slow: null,
    answeredAtMs: null,
    waiting: 0,
    keys: 1,
    keysReady: 1,
    ...overrides,
  };
}
