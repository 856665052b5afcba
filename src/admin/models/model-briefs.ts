import { abilitiesOf, showsTokenPrice } from "../../base/models/model-uses.ts";
import { shownModel } from "../../base/models/shown-model.ts";
import { priceAt } from "../../catalog/price.ts";
import { priceInUsd } from "../../catalog/price-view.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { DeploymentHealth } from "../../upstream/upstream.ts";
import type { AdminDeps } from "../deps.ts";
import { healthView } from "./model-views.ts";
import type { ModelBriefView } from "./schema.ts";

/** Every model in a few words: a catalog has a thousand, and lists that one chooses from need little of each. */
export function modelBriefs(deps: AdminDeps): readonly ModelBriefView[] {
  const atMs = deps.clock.wallMs();
  const health = new Map(deps.deploymentHealth().map((each) => [each.name, each]));
  return deps.settings().models.map((model) => ({
    id: model.id,
    display_name: model.displayName,
    owned_by: model.ownedBy,
    providers: [...new Set(model.deployments.map(({ provider }) => provider))],
    aliases: [...model.aliases],
    listed: model.listed,
    public: model.public,
    free: model.free,
    serves: [...model.serves],
    abilities: abilitiesOf(model),
    context_window: model.contextWindow,
    ends: model.ends,
    price: briefPrice(model, atMs),
    health: worstHealth(model, health),
  }));
}

/** Input and output, or the prices of the units that it is charged by. */
function briefPrice({ price, serves }: ModelSettings, atMs: number): ModelBriefView["price"] {
  if (price === null) return null;
  const { input, output, long_context: _, tiers: __, images, ...others } = priceInUsd(priceAt(price, atMs));
  const units = Object.entries({ images, ...others });
  const tokens = Object.entries({ input, output }).filter(([, usd]) => showsTokenPrice(serves, usd));
  if (tokens.length > 0) return Object.fromEntries(tokens);
  for (const [name, usd = 0] of units) {
    const least = typeof usd === "number" ? usd : Math.min(...Object.values(usd));
    if (least > 0) return { [name]: least };
  }
  return {};
}

/** The health of the deployment in the worst state; null if none has been called lately. */
function worstHealth(
  { deployments }: ModelSettings,
  healthByName: ReadonlyMap<string, DeploymentHealth>,
): ModelBriefView["health"] {
  let worst: DeploymentHealth | null = null;
  for (const { provider, upstreamModel } of deployments) {
    const health = healthByName.get(`${provider}/${shownModel(upstreamModel)}`);
    if (health !== undefined && severityOf(health) > (worst === null ? 0 : severityOf(worst))) worst = health;
  }
  return worst && healthView(worst);
}

function severityOf({
  alarm,
  state,
  keys,
  keysReady,
  recentCalls,
  recentFailures,
}: DeploymentHealth): number {
  if (alarm !== null) return 5;
  if (state !== "closed") return 4;
  if (keys > 0 && keysReady === 0) return 3;
  if (recentFailures > 0) return 2;
  return recentCalls > 0 ? 1 : 0;
}
