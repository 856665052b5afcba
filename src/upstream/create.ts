import type { Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import type { TokenSources } from "../vendors/credentials/token-sources.ts";
import { createProvider } from "../vendors/registry.ts";
import type { Dial } from "../wire/http-client.ts";
import { Attempts, type UpstreamLog } from "./attempts.ts";
import { DeadlineTimer } from "./call/deadline-timer.ts";
import { countTokens } from "./count-tokens.ts";
import type { DeploymentState } from "./health/deployment-state.ts";
import { Directory } from "./selection/directory.ts";
import type { DeploymentHealth, Upstream } from "./upstream.ts";

export interface UpstreamOptions {
  readonly settings: Pick<Settings, "models" | "providers"> & {
    readonly server: Pick<Settings["server"], "heartbeatMs">;
  };
  readonly clock: Clock;
  readonly log: UpstreamLog;
  /** Between 0 and 1; tests pass a reproducible one. */
  readonly random?: () => number;
  /** Shared with the upstream of the configuration before, so that its tokens stay in use. */
  readonly tokens?: TokenSources;
  /** How connections are made; tests pass one that makes none. */
  readonly dial?: Dial;
}

/** All providers of one configuration. A reload creates another upstream; calls of the old one run to their end. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { settings, clock, log, random = Math.random } = options;
  const { dial, tokens } = options;
  const shared = { ...(dial === undefined ? {} : { dial }), ...(tokens === undefined ? {} : { tokens }) };
  const directory = new Directory(settings, (provider) => createProvider(provider, shared), random);
  const context = { clock, timer: new DeadlineTimer(clock), heartbeatMs: settings.server.heartbeatMs };
  const attempts = new Attempts(context, directory, log, random);
  return {
    open: (plan) => attempts.open(plan),
    countTokens: (plan) => countTokens(plan, directory, context),
    hasCredential: (provider, id) => directory.hasCredential(provider, id),
    health: () => healthOf(directory.states(), clock.monotonicMs()),
  };
}

/** Every deployment's health, for operators. */
function healthOf(states: Iterable<DeploymentState>, nowMs: number): DeploymentHealth[] {
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
