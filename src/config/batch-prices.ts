import { vendorOf } from "../vendors/registry.ts";
import type { DeploymentSettings, ModelSettings, Settings } from "./settings.ts";

const maxNamed = 5;

/** Where lines of batches cost the client or the operator more than they may expect. */
export function batchPriceNotes({ routes, models, providers }: Settings): string[] {
  if (!routes.batches) return [];
  const kindOf = ({ provider }: DeploymentSettings) => vendorOf(providers.get(provider)?.kind ?? "");
  const atUsualTier = models.filter(
    ({ batch, batchTier, serves }) =>
      batch === "gateway" && batchTier === null && serves.includes("generation"),
  );
  const isGift = ({ deployments, priceSource }: ModelSettings) =>
    priceSource !== "catalog" && deployments.some(({ price }) => hasBatchPrice(price));
  const atFullPrice = atUsualTier.filter(
    (model) => !isGift(model) && model.deployments.some((each) => kindOf(each).sellsBatches === true),
  );
  const hasNative = ({ deployments }: ModelSettings) =>
    deployments.some((each) => kindOf(each).batches !== undefined);
  const hasFlex = ({ deployments }: ModelSettings) =>
    deployments.every(({ price }) => price?.tiers?.["flex"]);
  const [cheaper, others] = [atFullPrice.filter(hasFlex), atFullPrice.filter((model) => !hasFlex(model))];
  return [
    ...noteOf(
      cheaper,
      'lines of batches cost the full price; set batch_tier = "flex" on the model for its flex price',
    ),
    ...noteOf(
      others.filter(hasNative),
      'lines of batches cost the full price; set batch = "native" on the provider, or with price.tiers.batch on the model, for the provider\'s batch price',
    ),
    ...noteOf(
      others.filter((model) => !hasNative(model)),
      "lines of batches cost the full price: the provider's batch price is only for its own batch API",
    ),
    ...noteOf(
      atUsualTier.filter(isGift),
      "lines of batches are charged by price.tiers.batch, and the provider bills its usual price",
    ),
  ];
}

function hasBatchPrice(price: DeploymentSettings["price"]): boolean {
  return price?.tiers?.["batch"] !== undefined;
}

function noteOf(models: readonly ModelSettings[], message: string): string[] {
  if (models.length === 0) return [];
  const names = models.slice(0, maxNamed).map(({ id }) => id);
  const more = models.length > maxNamed ? ` and ${models.length - maxNamed} more` : "";
  return [`${names.join(", ")}${more}: ${message}`];
}
