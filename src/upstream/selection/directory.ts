import { assert } from "../../base/assert.ts";
import { shownModel } from "../../base/models/shown-model.ts";
import { inScope } from "../../catalog/catalog.ts";
import type { DeploymentSettings, ModelSettings, Settings } from "../../config/settings.ts";
import { Gate } from "../../limits/concurrency.ts";
import type { Provider, ProviderSettings } from "../../vendors/provider.ts";
import { Breaker } from "../health/breaker.ts";
import type { Candidate, DeploymentState, ProviderState } from "../health/deployment-state.ts";
import { KeyPool } from "../health/key-health.ts";
import { CallHistory } from "../health/recent-calls.ts";
import type { Deployment, Plan } from "../upstream.ts";
import { rankOf } from "./rendezvous.ts";

/**
 * Maximum number of requests that wait for a slot or for the end of a cooldown, and for how long; more would only time
 * out later.
 */
export const queueLimit = 64;
export const queueWaitMs = 2000;

function gateFor(limit: number | null): Gate | null {
  return limit === null ? null : new Gate({ limit, queueLimit, waitMs: queueWaitMs });
}

/** Every deployment of one configuration, and the order in which a model's deployments are tried. */
export class Directory {
  readonly #providers = new Map<string, ProviderState>();
  /** By `provider/upstream_model`. */
  readonly #states = new Map<string, DeploymentState>();
  /** By model. */
  readonly #candidates = new Map<string, readonly Candidate[]>();
  /** Candidates of models without an entry, which clients name. Their health is not shown, and ends with them. */
  readonly #unlisted = new WeakMap<ModelSettings, readonly Candidate[]>();
  /** Models with a limit at each of their deployments. */
  readonly #limited: string[] = [];
  readonly #random: () => number;
  /** The directory of the previous configuration, while this one is built. */
  #before: Directory | null;

  constructor(
    settings: Pick<Settings, "models" | "providers">,
    createProvider: (settings: ProviderSettings) => Provider,
    random: () => number,
    before: Directory | null = null,
  ) {
    this.#random = random;
    this.#before = before;
    for (const [name, providerSettings] of settings.providers) {
      const provider = createProvider(providerSettings);
      this.#providers.set(name, {
        provider,
        keys: new KeyPool(provider.credentials),
        gate: gateFor(providerSettings.maxConcurrent),
      });
    }
    for (const model of settings.models) {
      const candidates = this.#candidatesOf(model);
      this.#candidates.set(model.id, candidates);
      if (candidates.every((each) => gatesOf(each).length > 0)) this.#limited.push(model.id);
    }
    this.#before = null;
  }

  /** The state of a deployment; undefined if its provider's settings have changed. */
  unchangedState(id: string, { settings }: Provider): DeploymentState | undefined {
    const state = this.#states.get(id);
    return state && Bun.deepEquals(state.providerState.provider.settings, settings) ? state : undefined;
  }

  states(): Iterable<DeploymentState> {
    return this.#states.values();
  }

  provider(name: string): Provider | null {
    return this.#providers.get(name)?.provider ?? null;
  }

  /** By priority. */
  deployments(model: ModelSettings, scope: string): readonly Deployment[] {
    // A model of an earlier configuration has its own deployments.
    const listed = this.#candidates.get(model.id);
    const isOwn = listed?.[0]?.deployment.model === model;
    return (isOwn ? listed : this.#candidatesOfUnlisted(model))
      .map(({ deployment }) => deployment)
      .filter(({ provider }) => inScope(scope, { provider: provider.settings.name }))
      .toSorted((one, other) => one.priority - other.priority);
  }

  crowdedModels(): readonly string[] {
    return this.#limited.filter((id) => (this.#candidates.get(id) ?? []).every(isCrowded));
  }

  hasCredential(provider: string, id: string): boolean {
    return this.#providers.get(provider)?.keys.has(id) ?? false;
  }

  /**
   * The deployments to try, in order: by priority, within one priority by the conversation's own order, or a random
   * one, each in proportion to weight; then the model's fallbacks in the same way. Only those in the key's scope. Among
   * each model's deployments, those that fail often come last, with any priority: a first attempt there would likely
   * cost a second one elsewhere, and the retry budget is limited.
   */
  order(plan: Plan, nowMs: number): readonly Candidate[] {
    const { model, scope, pinned = null } = plan;
    if (pinned !== null) return this.#candidatesAt(pinned);
    const own = this.#candidates.get(model.id) ?? this.#candidatesOfUnlisted(model);
    if (own.length === 1 && scope === "all" && model.fallbacks.length === 0) return own;
    const others = model.fallbacks.map((id) => this.#candidates.get(id) ?? []);
    return [own, ...others].flatMap((candidates) => this.#healthyFirst(candidates, plan, nowMs));
  }

  #candidatesAt(pinned: Deployment): readonly Candidate[] {
    const candidates = this.#candidates.get(pinned.model.id) ?? [];
    return candidates.filter(({ deployment }) => deployment === pinned);
  }

  #candidatesOfUnlisted(model: ModelSettings): readonly Candidate[] {
    return this.#unlisted.getOrInsertComputed(model, () => this.#candidatesOf(model, new Map()));
  }

  #healthyFirst(all: readonly Candidate[], plan: Plan, nowMs: number): readonly Candidate[] {
    const order = this.#ranked(all, plan);
    const failing = order.filter(({ state }) => state.breaker.failsOften(nowMs, plan.keyId));
    if (failing.length === 0 || failing.length === order.length) return order;
    return [...order.filter((candidate) => !failing.includes(candidate)), ...failing];
  }

  #ranked(all: readonly Candidate[], plan: Plan): readonly Candidate[] {
    const candidates = all.filter(({ deployment }) =>
      inScope(plan.scope, { provider: deployment.provider.settings.name }),
    );
    if (candidates.length < 2) return candidates;
    const seed = plan.conversation ?? Math.floor(this.#random() * 2 ** 32);
    const rank = ({ deployment, state }: Candidate) => rankOf(state.id, deployment.weight, seed);
    return candidates
      .map((candidate) => ({ candidate, priority: candidate.deployment.priority, rank: rank(candidate) }))
      .sort((a, b) => a.priority - b.priority || a.rank - b.rank)
      .map(({ candidate }) => candidate);
  }

  #candidatesOf(model: ModelSettings, states = this.#states): readonly Candidate[] {
    return model.deployments.map((settings) => {
      const state = this.#stateOf(settings, states);
      const { provider } = state.providerState;
      const shown = shownModel(settings.upstreamModel);
      const deployment = { ...settings, name: state.name, shownModel: shown, provider, model };
      const gate = gateFor(settings.maxConcurrent);
      if (gate !== null) state.gates.push(gate);
      return { deployment, state, gate };
    });
  }

  #stateOf(
    { provider, upstreamModel }: DeploymentSettings,
    states: Map<string, DeploymentState>,
  ): DeploymentState {
    const providerState = this.#providers.get(provider);
    assert(providerState !== undefined, "the provider is not configured", provider);
    const before = this.#before?.unchangedState(`${provider}/${upstreamModel}`, providerState.provider);
    return states.getOrInsertComputed(`${provider}/${upstreamModel}`, (id) => ({
      id,
      name: `${provider}/${shownModel(upstreamModel)}`,
      providerState,
      breaker: before?.breaker ?? new Breaker(),
      history: before?.history ?? new CallHistory(),
      gates: [],
      inFlight: 0,
      waitingForCoolDown: 0,
    }));
  }
}

function gatesOf({ gate, state: { providerState } }: Candidate): readonly Gate[] {
  return [gate, providerState.gate].filter((each) => each !== null);
}

function isCrowded(candidate: Candidate): boolean {
  return gatesOf(candidate).some((gate) => gate.isHalfTaken);
}

/** A concurrency slot at a deployment is one at its own gate and one at its provider's. Takes both or none. */
export function tryTakeSlot({ gate, state: { providerState } }: Candidate): boolean {
  if (gate !== null && !gate.tryEnter()) return false;
  if (providerState.gate === null || providerState.gate.tryEnter()) return true;
  gate?.leave();
  return false;
}

/** Takes a slot, queueing at each gate if necessary. False if none was free in time, or the signal fired. */
export async function takeSlot(
  { gate, state: { providerState } }: Candidate,
  signal: AbortSignal,
): Promise<boolean> {
  if (gate !== null && !(await gate.enter(signal))) return false;
  if (providerState.gate === null || (await providerState.gate.enter(signal))) return true;
  gate?.leave();
  return false;
}

export function releaseSlot({ gate, state: { providerState } }: Candidate): void {
  gate?.leave();
  providerState.gate?.leave();
}
