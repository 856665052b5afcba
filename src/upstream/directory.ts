import { assert } from "../base/assert.ts";
import { inScope } from "../catalog/catalog.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { Gate } from "../limits/concurrency.ts";
import type { Provider } from "../vendors/provider.ts";
import type { ProviderSettings } from "../vendors/settings.ts";
import { Breaker } from "./breaker.ts";
import { KeyPool } from "./key-pool.ts";
import type { Deployment, Plan } from "./upstream.ts";

/** What is shared by all deployments at one provider. */
export interface Account {
  readonly provider: Provider;
  readonly keys: KeyPool;
  readonly gate: Gate | null;
}

/** How a provider's model is doing; shared by all models of the catalog that use it. */
export interface Standing {
  readonly name: string;
  readonly account: Account;
  readonly breaker: Breaker;
  readonly gate: Gate | null;
  inFlight: number;
  /** Requests that wait for the end of a pause that the provider has asked for. */
  pausing: number;
}

export interface Candidate {
  readonly deployment: Deployment;
  readonly standing: Standing;
}

/** A few may wait a moment for a place at a full provider; more would only time out later. */
export const queueLimit = 64;
export const queueWaitMs = 2000;

function gateFor(limit: number | null): Gate | null {
  return limit === null ? null : new Gate({ limit, queueLimit, waitMs: queueWaitMs });
}

/** Every deployment of one configuration, and the order in which a model's are asked. */
export class Directory {
  readonly #accounts = new Map<string, Account>();
  readonly #standings = new Map<string, Standing>();
  /** By model, sorted by priority. */
  readonly #candidates = new Map<string, readonly Candidate[]>();
  readonly #random: () => number;

  constructor(
    settings: Pick<Settings, "models" | "providers">,
    createProvider: (settings: ProviderSettings) => Provider,
    random: () => number,
  ) {
    this.#random = random;
    for (const [name, provider] of settings.providers) {
      this.#accounts.set(name, {
        provider: createProvider(provider),
        keys: new KeyPool(provider.apiKeys),
        gate: gateFor(provider.maxConcurrent),
      });
    }
    for (const model of settings.models) this.#candidates.set(model.id, this.#candidatesOf(model));
  }

  standings(): Iterable<Standing> {
    return this.#standings.values();
  }

  /**
   * Whom to ask, in order: lower priority numbers first, by chance in proportion to weight within one, and
   * then the model's fallbacks in the same way. Nothing outside the key's scope. Of a model's deployments
   * those that ail come last, whatever their priority: each first attempt there is likely to need a
   * second one elsewhere, and there are not that many to spend.
   */
  order({ model, scope, keyId }: Plan, nowMs: number): readonly Candidate[] {
    const own = this.#candidates.get(model.id) ?? [];
    if (own.length === 1 && scope === "all" && model.fallbacks.length === 0) return own;
    const order = this.#wellFirst(own, scope, keyId, nowMs);
    for (const id of model.fallbacks) {
      order.push(...this.#wellFirst(this.#candidates.get(id) ?? [], scope, keyId, nowMs));
    }
    return order;
  }

  #wellFirst(sorted: readonly Candidate[], scope: string, keyId: string, nowMs: number): Candidate[] {
    const order = this.#shuffled(sorted, scope);
    const ailing = order.filter(({ standing }) => standing.breaker.isAiling(nowMs, keyId));
    if (ailing.length === 0 || ailing.length === order.length) return order;
    return [...order.filter((candidate) => !ailing.includes(candidate)), ...ailing];
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

  /** The index of one among the first `count`, by weight. */
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
      const account = this.#accounts.get(settings.provider);
      assert(account !== undefined, `the provider ${settings.provider} is configured`);
      const standing = this.#standingOf(settings.provider, settings.upstreamModel, settings.maxConcurrent);
      const deployment = { ...settings, name: standing.name, provider: account.provider, model };
      return { deployment, standing };
    });
    return candidates.sort((a, b) => a.deployment.priority - b.deployment.priority);
  }

  #standingOf(provider: string, upstreamModel: string, maxConcurrent: number | null): Standing {
    const name = `${provider}/${upstreamModel}`;
    let standing = this.#standings.get(name);
    if (standing === undefined) {
      const account = this.#accounts.get(provider);
      assert(account !== undefined, `the provider ${provider} is configured`);
      standing = {
        name,
        account,
        breaker: new Breaker(),
        gate: gateFor(maxConcurrent),
        inFlight: 0,
        pausing: 0,
      };
      this.#standings.set(name, standing);
    }
    return standing;
  }
}
