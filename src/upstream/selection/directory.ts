import { assert } from "../../base/assert.ts";
import { shownModel } from "../../base/shown-model.ts";
import { inScope } from "../../catalog/catalog.ts";
import type { DeploymentSettings, ModelSettings, Settings } from "../../config/settings.ts";
import { Gate } from "../../limits/concurrency.ts";
import type { Provider } from "../../vendors/provider.ts";
import type { ProviderSettings } from "../../vendors/settings.ts";
import { Breaker } from "../health/breaker.ts";
import type { Candidate, DeploymentState, ProviderState } from "../health/deployment-state.ts";
import { KeyPool } from "../health/key-pool.ts";
import type { Plan } from "../upstream.ts";

/** How many requests may wait for a slot or for the end of a cool-down, and for how long; more would only time out later. */
export const queueLimit = 64;
export const queueWaitMs = 2000;

function gateFor(limit: number | null): Gate | null {
  return limit === null ? null : new Gate({ limit, queueLimit, waitMs: queueWaitMs });
}

/** Every deployment of one configuration, and the order in which those of a model are tried. */
export class Directory {
  readonly #providers = new Map<string, ProviderState>();
  /** By `provider/upstream_model`. */
  readonly #states = new Map<string, DeploymentState>();
  /** By model, sorted by priority. */
  readonly #candidates = new Map<string, readonly Candidate[]>();
  readonly #random: () => number;

  constructor(
    settings: Pick<Settings, "models" | "providers">,
    createProvider: (settings: ProviderSettings) => Provider,
    random: () => number,
  ) {
    this.#random = random;
    for (const [name, providerSettings] of settings.providers) {
      const provider = createProvider(providerSettings);
      this.#providers.set(name, {
        provider,
        keys: new KeyPool(provider.credentials),
        gate: gateFor(providerSettings.maxConcurrent),
      });
    }
    for (const model of settings.models) this.#candidates.set(model.id, this.#candidatesOf(model));
  }

  states(): Iterable<DeploymentState> {
    return this.#states.values();
  }

  hasCredential(provider: string, id: string): boolean {
    return this.#providers.get(provider)?.keys.has(id) ?? false;
  }

  /**
   * The deployments to try, in order: by priority, at random in proportion to weight within one priority, then the
   * model's fallbacks in the same way. Only those in the key's scope. Of each model's deployments those that fail
   * often come last, whatever their priority: a first attempt there would likely cost a second one elsewhere, and the
   * retry budget is limited.
   */
  order({ model, scope, keyId }: Plan, nowMs: number): readonly Candidate[] {
    const own = this.#candidates.get(model.id) ?? [];
    if (own.length === 1 && scope === "all" && model.fallbacks.length === 0) return own;
    const order = this.#healthyFirst(own, scope, keyId, nowMs);
    for (const id of model.fallbacks) {
      order.push(...this.#healthyFirst(this.#candidates.get(id) ?? [], scope, keyId, nowMs));
    }
    return order;
  }

  #healthyFirst(sorted: readonly Candidate[], scope: string, keyId: string, nowMs: number): Candidate[] {
    const order = this.#shuffled(sorted, scope);
    const failing = order.filter(({ state }) => state.breaker.failsOften(nowMs, keyId));
    if (failing.length === 0 || failing.length === order.length) return order;
    return [...order.filter((candidate) => !failing.includes(candidate)), ...failing];
  }

  #shuffled(sorted: readonly Candidate[], scope: string): Candidate[] {
    const left = sorted.filter(({ deployment }) =>
      inScope(scope, { provider: deployment.provider.settings.name }),
    );
    const order: Candidate[] = [];
    while (left.length > 0) {
      const priority = left[0]?.deployment.priority;
      const tier = left.filter(({ deployment }) => deployment.priority === priority).length;
      order.push(...left.splice(this.#draw(left, tier), 1));
    }
    return order;
  }

  /** A random index among the first `count`, by weight. */
  #draw(candidates: readonly Candidate[], count: number): number {
    let total = 0;
    for (let index = 0; index < count; index += 1) total += candidates[index]?.deployment.weight ?? 0;
    let mark = this.#random() * total;
    for (let index = 0; index < count - 1; index += 1) {
      mark -= candidates[index]?.deployment.weight ?? 0;
      if (mark < 0) return index;
    }
    return count - 1;
  }

  #candidatesOf(model: ModelSettings): readonly Candidate[] {
    const candidates = model.deployments.map((settings) => {
      const state = this.#stateOf(settings);
      const { provider } = state.providerState;
      return { deployment: { ...settings, name: state.name, provider, model }, state };
    });
    return candidates.sort((a, b) => a.deployment.priority - b.deployment.priority);
  }

  #stateOf({ provider, upstreamModel, maxConcurrent }: DeploymentSettings): DeploymentState {
    const id = `${provider}/${upstreamModel}`;
    const known = this.#states.get(id);
    if (known !== undefined) return known;
    const providerState = this.#providers.get(provider);
    assert(providerState !== undefined, `the provider ${provider} is configured`);
    const state = {
      name: `${provider}/${shownModel(upstreamModel)}`,
      providerState,
      breaker: new Breaker(),
      gate: gateFor(maxConcurrent),
      inFlight: 0,
      alarm: null,
      waitingForCoolDown: 0,
    };
    this.#states.set(id, state);
    return state;
  }
}
