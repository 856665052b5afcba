import { AlertMonitor, type MonitorOptions } from "../../src/alerts/monitor.ts";
import { loadSettings } from "../../src/config/load.ts";
import type { Store } from "../../src/store/store.ts";
import type { DeploymentHealth } from "../../src/upstream/upstream.ts";
import type { FakeClock } from "../support/clock.ts";
import type { HookServer } from "../support/hook.ts";

export const { settings } = loadSettings({ env: {}, cwd: "/" });
export const secret = "signing-canary";

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

/** A gateway's monitor, whose looks the test decides on. */
export function monitorOf(
  store: Store,
  clock: FakeClock,
  hook: HookServer,
  overrides: Partial<MonitorOptions> = {},
) {
  const logged: unknown[] = [];
  const log = {
    warn: (...line: unknown[]) => logged.push(line),
    error: (...line: unknown[]) => logged.push(line),
  };
  const monitor = new AlertMonitor({
    store,
    clock,
    log,
    settings: () => ({ ...settings, alerts: { url: hook.url, secret } }),
    deploymentHealth: () => [],
    problem: () => null,
    droppedContent: () => null,
    ...overrides,
  });
  return { monitor, logged };
}
