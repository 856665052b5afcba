import { tableOf } from "../../base/collections/table.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { withoutBatchPrice } from "../../config/dated-prices.ts";
import type { ImportedModel, ImportedPrices } from "./imported.ts";
import { readLiteLlmPrices } from "./litellm-prices.ts";
import { readModelsDev } from "./models-dev.ts";
import { lacksRequestFee } from "./request-fee.ts";

/** The file has neither of the two supported formats. */
export class UnknownPriceFile extends Error {
  override readonly name = "UnknownPriceFile";
}

export function readPrices(text: string): ImportedPrices {
  const read = readPriceList(text);
  const half = read.models.filter(lacksRequestFee).length;
  return {
    ...read,
    models: read.models
      .filter((model) => !lacksRequestFee(model))
      .map(withSearchPrice)
      .map((model) => ({ ...model, price: withoutBatchPrice(model.price) })),
    leftOut: half === 0 ? read.leftOut : { ...read.leftOut, "without a price per request": half },
  };
}

/** Only what the file itself states. */
export function readPriceList(text: string): ImportedPrices {
  return readDocument(parseObject(text));
}

/** Prices of a web search in USD per 1,000. Neither file has them for all models, but agents offer search to all. */
const searchPrices = tableOf<number>({ openai: 10, anthropic: 10 });

export function withSearchPrice(model: ImportedModel): ImportedModel {
  const usual = searchPrices[model.vendor];
  const isMissing = model.price.web_search === undefined && model.serves === undefined;
  return isMissing && usual !== undefined
    ? { ...model, price: { ...model.price, web_search: usual } }
    : model;
}

function readDocument(document: JsonObject): ImportedPrices {
  const entries = Object.values(document).filter(isObject);
  if (entries.some((entry) => isObject(entry["models"]))) return readModelsDev(document);
  if (entries.some((entry) => "litellm_provider" in entry)) return readLiteLlmPrices(document);
  throw new UnknownPriceFile("it is neither LiteLLM's price file nor the API dump of models.dev");
}

function parseObject(text: string): JsonObject {
  try {
    const document: unknown = JSON.parse(text);
    if (isObject(document)) return document;
  } catch {
    const lines = text.trimEnd().split("\n").length;
    throw new UnknownPriceFile(`it is not JSON, and may be cut off at its end in line ${lines}`);
  }
  throw new UnknownPriceFile("it is not a JSON object");
}

export interface Choice {
  readonly vendor?: string | undefined;
  /** Only ids that match this glob pattern. */
  readonly match?: string | undefined;
}

export function choose(models: readonly ImportedModel[], { vendor, match }: Choice): ImportedModel[] {
  const glob = match === undefined ? null : new Bun.Glob(match);
  const chosen = new Map<string, ImportedModel>();
  for (const model of models) {
    if (vendor !== undefined && model.vendor !== vendor) continue;
    if (glob !== null && !glob.match(model.id)) continue;
    // A configuration may have an id only once, and several vendors may sell the same model. The first one counts.
    if (!chosen.has(model.id)) chosen.set(model.id, model);
  }
  return [...chosen.values()];
}
