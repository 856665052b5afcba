import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { Catalog, ModelRun } from "../../catalog/catalog.ts";
import { highestPrice } from "../../catalog/price.ts";
import type { RoundModel } from "../../catalog/priced-usage.ts";
import { pathOf } from "../../dialects/json/name-path.ts";
import type { HostedTool } from "../../dialects/tools/hosted-tools.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import type { DestinationPrices } from "./destination-prices.ts";
import type { HeldRound, RequestedExtras } from "./extras.ts";
import { heldCalls } from "./requested-tools.ts";

/**
 * The hold for models that the request's tools would run, such as Anthropic's advisor. Each is charged at the price of
 * the named model in the catalog; throws if the model does not exist, has no price, or is not allowed for the key.
 */
export function requestedAdvisors(tools: readonly HostedTool[], prices: DestinationPrices): HeldRound[] {
  if (prices.speakers.length === 0) return [];
  return tools.flatMap((tool) => (tool.runs === null ? [] : advisorOf(tool, tool.runs, prices)));
}

function advisorOf(
  { path, type, maxUses }: HostedTool,
  { model: name, maxTokens }: NonNullable<HostedTool["runs"]>,
  { destination, speakers: reached }: DestinationPrices,
): HeldRound {
  const { configured, key, pricedAtMs } = destination;
  const { catalog } = configured;
  const param = pathOf([...path, "model"]);
  const runs = reached
    .flatMap(({ provider }) => catalog.findRun(name, provider, pricedAtMs) ?? [])
    .filter(isPriced);
  const [first] = runs;
  if (first === undefined || runs.length < reached.length) {
    throw invalidRequest(
      `\`${param}\` needs model ${JSON.stringify(name)} for ${JSON.stringify(type)}, which has no price on this gateway. Remove the tool, or ask the operator to add the model.`,
      param,
    );
  }
  const { model } = first;
  if (!catalog.permits(key, model)) {
    throw new GatewayError(
      "key_disabled",
      `This key cannot use model "${model.id}". Choose one of GET /v1/models, or ask the operator to allow it.`,
      { param },
    );
  }
  const price = highestPrice(runs.map((run) => run.price));
  const maxOutputTokens = maxTokens ?? model.maxOutputTokens;
  return { other: { id: model.id, price, maxOutputTokens }, times: heldCalls(maxUses) };
}

/**
 * Finds the additional model that ran for a response, by the name that the provider reports. An unknown name is taken for
 * the additional model that was requested; null if none was.
 */
export function runsBeside(
  catalog: Catalog,
  atMs: number,
  deployment: Deployment | null,
  requested: RequestedExtras | null,
): (name: string) => RoundModel | null {
  return (name) => {
    const run = catalog.findRun(name, deployment?.provider.settings.name ?? "", atMs);
    if (run !== undefined && isPriced(run)) return { id: run.model.id, price: run.price };
    return requested?.rounds.find(({ other }) => other !== null)?.other ?? null;
  };
}

function isPriced({ model, price }: ModelRun): boolean {
  return price !== null || model.free;
}
