import { shownModel } from "../../base/models/shown-model.ts";
import { announcedPriceInUsd } from "../../catalog/price-view.ts";
import type { ModelSettings, Price } from "../../config/settings.ts";
import type { DeploymentHealth, FailingCalls } from "../../upstream/upstream.ts";
import type { AdminDeps } from "../deps.ts";
import { iso } from "../moments.ts";
import type { DeploymentView, ModelView, PriceView } from "./schema.ts";

type WithHealth<Health> = Omit<ModelView, "deployments"> & {
  readonly deployments: readonly (Omit<DeploymentView, "health"> & { readonly health: Health })[];
};

/** A model as `sluice models list` shows it. Only a running gateway knows the health of its deployments. */
export type ConfiguredModelView = WithHealth<DeploymentView["health"] | null>;

/** The models that are wanted, by default all. */
export function modelViews(
  deps: AdminDeps,
  isWanted: (model: ModelSettings) => boolean = () => true,
): readonly WithHealth<DeploymentView["health"]>[] {
  const health = new Map(deps.deploymentHealth().map((each) => [each.name, each]));
  const { models } = deps.settings();
  const atMs = deps.clock.wallMs();
  return models
    .filter(isWanted)
    .map((model) => modelView(model, atMs, (name) => healthView(health.get(name))));
}

/** `all`: also the models that lists leave out, such as dated ids. */
export function listedModelViews(models: readonly ModelSettings[], all: boolean): ConfiguredModelView[] {
  const atMs = Date.now();
  return models.filter(({ listed }) => all || listed).map((model) => modelView(model, atMs, () => null));
}

function modelView<Health>(
  model: ModelSettings,
  atMs: number,
  healthOf: (name: string) => Health,
): WithHealth<Health> {
  return {
    id: model.id,
    aliases: [...model.aliases],
    display_name: model.displayName,
    tagline: model.tagline,
    owned_by: model.ownedBy,
    provider: model.deployments[0]?.provider ?? "",
    public: model.public,
    free: model.free,
    serves: [...model.serves],
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
    price: priceView(model.price, atMs),
    price_source: model.priceSource,
    price_checked: model.priceChecked,
    capabilities: { ...model.capabilities },
    fallbacks: [...model.fallbacks],
    deployments: model.deployments.map((deployment) => {
      const upstreamModel = shownModel(deployment.upstreamModel);
      const name = `${deployment.provider}/${upstreamModel}`;
      return {
        name,
        provider: deployment.provider,
        upstream_model: upstreamModel,
        dialects: [...deployment.dialects],
        priority: deployment.priority,
        weight: deployment.weight,
        price: priceView(deployment.price, atMs),
        health: healthOf(name),
      };
    }),
  };
}

export function healthView(known: DeploymentHealth | undefined): DeploymentView["health"] {
  return {
    state: known?.state ?? "closed",
    wait_ms: known?.waitMs ?? 0,
    in_flight: known?.inFlight ?? 0,
    alarm: known?.alarm ?? null,
    failing: failingView(known?.failing ?? null),
    recent_attempts: known?.recentCalls ?? 0,
    recent_failures: known?.recentFailures ?? 0,
    keys: known?.keys ?? 0,
    keys_ready: known?.keysReady ?? 0,
  };
}

function failingView(failing: FailingCalls | null): DeploymentView["health"]["failing"] {
  if (failing === null) return null;
  const { sinceMs, atMs, failure, providerMessage } = failing;
  return { since: iso(sinceMs), at: iso(atMs), failure, last_error: providerMessage };
}

function priceView(price: Price | null, atMs: number): PriceView | null {
  return price === null ? null : announcedPriceInUsd(price, atMs);
}
