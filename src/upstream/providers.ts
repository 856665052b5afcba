import type { Clock } from "../base/clock.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import type { TokenCount } from "../dialects/contract/client-dialect.ts";
import { countOf, parseObject } from "../dialects/json/json-fields.ts";
import { type ProviderDialectName, providerDialect } from "../dialects/registry.ts";
import type { TokenSources } from "../vendors/credentials/token-sources.ts";
import type { Provider, ProviderSettings } from "../vendors/provider.ts";
import { createProvider } from "../vendors/registry.ts";
import type { Dial } from "../wire/http-client.ts";
import { Attempts, type UpstreamLog } from "./attempts.ts";
import { DeadlineTimer } from "./call/call-deadlines.ts";
import type { CallContext } from "./call/call-state.ts";
import { UpstreamCall } from "./call/upstream-call.ts";
import type { DeploymentState } from "./health/deployment-state.ts";
import { Directory, tryTakeSlot } from "./selection/directory.ts";
import type { CountingPlan, Deployment, DeploymentHealth, GenerationPlan, OpenedCall } from "./upstream.ts";

export interface UpstreamOptions {
  readonly settings: Pick<Settings, "models" | "providers"> & {
    readonly server: Pick<Settings["server"], "heartbeatMs">;
  };
  readonly clock: Clock;
  readonly log: UpstreamLog;
  /** Between 0 and 1; tests pass a reproducible one. */
  readonly random?: () => number;
  /** Shared with the previous configuration's upstream, so that its tokens stay in use. */
  readonly tokens?: TokenSources;
  /** The upstream of the previous configuration, so that the state of unchanged providers is kept. */
  readonly before?: Upstream | undefined;
  /** Opens connections; tests pass a function that opens none. */
  readonly dial?: Dial;
}

/** All providers of one configuration. A reload creates another upstream; calls of the old one run to their end. */
export class Upstream {
  readonly #context: CallContext;
  readonly #directory: Directory;
  readonly #attempts: Attempts;

  constructor({ settings, clock, log, random = Math.random, dial, tokens, before }: UpstreamOptions) {
    const shared = { ...(dial === undefined ? {} : { dial }), ...(tokens === undefined ? {} : { tokens }) };
    const create = (provider: ProviderSettings) => createProvider(provider, shared);
    this.#directory = new Directory(
      settings,
      create,
      random,
      before === undefined ? null : before.#directory,
    );
    this.#context = { clock, timer: new DeadlineTimer(clock), heartbeatMs: settings.server.heartbeatMs };
    this.#attempts = new Attempts(this.#context, this.#directory, log, random);
  }

  /**
   * Tries deployment after deployment until one responds. Throws a GatewayError otherwise: `provider_unavailable`,
   * `invalid_request` with the provider's message, `service_unavailable`, …
   */
  open(plan: GenerationPlan): Promise<OpenedCall> {
    return this.#attempts.open(plan);
  }

  /**
   * The provider's own count of the input; null if it offers none or fails. `prepare` makes a `count_tokens` request;
   * `deadlineMs` limits the wait.
   */
  countTokens(plan: CountingPlan): Promise<TokenCount | null> {
    return countTokens(plan, this.#directory, this.#context);
  }

  /** A model's own deployments in a key's scope, by priority. */
  deployments(model: ModelSettings, scope: string): readonly Deployment[] {
    return this.#directory.deployments(model, scope);
  }

  /** Null if it is not configured. */
  provider(name: string): Provider | null {
    return this.#directory.provider(name);
  }

  /** Whether the provider still has the credential of this id. */
  hasCredential(provider: string, id: string): boolean {
    return this.#directory.hasCredential(provider, id);
  }

  health(): DeploymentHealth[] {
    return healthOf(this.#directory.states(), this.#context.clock.monotonicMs());
  }

  /** Ids of models that have more than half of `max_concurrent` in flight at each of their deployments. */
  crowdedModels(): readonly string[] {
    return this.#directory.crowdedModels();
  }
}

/** Every deployment's health, for operators. */
function healthOf(states: Iterable<DeploymentState>, nowMs: number): DeploymentHealth[] {
  return Array.from(states, (state) => {
    const { name, providerState, breaker, history, inFlight, gates, waitingForCoolDown } = state;
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
      alarm: history.alarm,
      failing: history.failing,
      slow: history.slow(nowMs),
      answeredAtMs: history.answeredAtMs,
      waiting: gates.reduce((sum, { waiting }) => sum + waiting, waitingForCoolDown),
      keys: providerState.keys.size,
      keysReady: providerState.keys.ready(nowMs),
    };
  });
}

/**
 * The provider's own count of a request's input; null if no provider offers one or the call fails, since the gateway
 * can count by itself. One attempt, at the first deployment that offers it. The result does not count for or against
 * the deployment's breaker.
 */
async function countTokens(
  plan: CountingPlan,
  directory: Directory,
  context: CallContext,
): Promise<TokenCount | null> {
  const nowMs = context.clock.monotonicMs();
  const candidate = directory.order(plan, nowMs).find(({ deployment, state }) => {
    return (
      plan.mayCount(deployment) &&
      deployment.model === plan.model &&
      state.breaker.isClosedFor(nowMs, plan.keyId)
    );
  });
  if (candidate === undefined) return null;
  const { state } = candidate;
  // Before the slot is taken, because it may throw. Once the call has begun, it releases the slot by itself.
  const prepared = await plan.prepare(candidate.deployment);
  if (plan.isOver || !tryTakeSlot(candidate)) return null;
  state.inFlight += 1;
  const call = new UpstreamCall(context, candidate, plan, prepared.dialect);
  const key = state.providerState.keys.pick(nowMs, plan);
  const failure = await call.begin(prepared, key?.use() ?? null, nowMs);
  if (failure !== null) return null;
  const count = call.streaming ? null : readCount(call.bytes(), prepared.dialect);
  call.finished(call.streaming ? "cancelled" : "completed");
  return count;
}

/** A count is a few bytes, and parsing a long body could block. */
const maxBytes = 64 * 1024;

function readCount(body: Uint8Array, dialect: ProviderDialectName): TokenCount | null {
  const counting = providerDialect(dialect).countTokens;
  const answer = body.length > maxBytes ? null : parseObject(Buffer.from(body).toString());
  if (counting === undefined || answer === null) return null;
  const tokens = countOf(answer[counting.countField]);
  return tokens === null ? null : { tokens, originalTokens: counting.originalCount?.(answer) ?? null };
}
