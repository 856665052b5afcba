import { isObject } from "../../base/json.ts";
import { checkShape } from "../../config/check-shape.ts";
import { Places } from "../../config/places.ts";
import { ConfigError, ProblemList } from "../../config/problems.ts";
import type { ModelConfig } from "../../config/schema.ts";
import { parseToml } from "../../config/toml.ts";
import type { ImportedModel } from "../import/imported.ts";
import { readPriceList, UnknownPriceFile, withSearchPrice } from "../import/prices.ts";
import { CommandError } from "../terminal/terminal.ts";
import { catalogOf } from "./list-vendors.ts";

/** A price list, by the names of our catalogs. */
export interface PriceListFile {
  readonly source: string;
  /** Whether it has all models of each vendor in it, so that a missing model no longer exists. */
  readonly isComplete: boolean;
  readonly models: readonly ListedPrice[];
  /** Models with an invalid price. */
  readonly invalid: readonly InvalidPriceEntry[];
}

export interface ListedPrice {
  readonly catalog: string;
  readonly id: string;
  /** The price in the list. */
  readonly price: ModelConfig["price"];
  /** All of its settings, for a model that the catalog does not have. */
  readonly model: ModelConfig;
}

export interface InvalidPriceEntry {
  readonly catalog: string;
  readonly id: string;
  readonly problem: string;
}

/** Reads `[[models]]` of TOML, LiteLLM's price file or models.dev's dump. `catalogs` has each provider's by its name. */
export function readList(text: string, name: string, catalogs: ReadonlyMap<string, string>): PriceListFile {
  return text.trimStart().startsWith("{") ? readJson(text, name) : readToml(text, name, catalogs);
}

function readJson(text: string, name: string): PriceListFile {
  try {
    const { source, models, invalid } = readPriceList(text);
    return {
      source,
      isComplete: true,
      models: models.map((listed) => ({
        catalog: catalogOf(listed.vendor),
        id: plainId(listed.id),
        price: listed.price,
        model: modelOf(withSearchPrice(listed)),
      })),
      invalid: invalid.map(({ vendor, id, problem }) => ({
        catalog: catalogOf(vendor),
        id: plainId(id),
        problem,
      })),
    };
  } catch (error) {
    if (error instanceof UnknownPriceFile)
      throw new CommandError(`${name} is not a price list: ${error.message}`);
    throw error;
  }
}

/** LiteLLM has the same prefix for all vendors of a cloud. */
function plainId(id: string): string {
  return id.replace(/^vertex_ai\//, "");
}

function modelOf({ id, displayName, contextWindow, maxOutputTokens, ...listed }: ImportedModel): ModelConfig {
  const { serves, price, capabilities } = listed;
  return {
    id: plainId(id),
    ...(serves === undefined ? {} : { serves: [serves] }),
    ...(displayName === null ? {} : { display_name: displayName }),
    ...(contextWindow === null ? {} : { context_window: contextWindow }),
    ...(maxOutputTokens === null ? {} : { max_output_tokens: maxOutputTokens }),
    price: withoutZeros(price),
    ...(Object.keys(capabilities).length === 0 ? {} : { capabilities }),
  };
}

/** Lists have zeros for what a model is not charged by. They would make it free. */
export function withoutZeros<Rates extends object>(rates: Rates): Rates {
  const charged = Object.entries(rates).flatMap(([name, rate]: [string, unknown]) => {
    if (isObject(rate)) return [[name, withoutZeros(rate)]];
    return rate === 0 && name !== "input" && name !== "output" ? [] : [[name, rate]];
  });
  // Only optional rates were left out.
  return Object.fromEntries(charged) as Rates;
}

function readToml(text: string, name: string, catalogs: ReadonlyMap<string, string>): PriceListFile {
  const document = parseToml(text, name);
  const { models } = document;
  if (!Array.isArray(models) || models.length === 0)
    throw new CommandError(
      `${name} is not a price list: it has no [[models]], and is neither LiteLLM's price file nor models.dev's dump`,
    );
  const problems = new ProblemList(new Places(text, document));
  checkShape({ models }, problems);
  if (problems.all.length > 0) throw new ConfigError(name, problems.all);
  // The cast holds because the schema has accepted them.
  const entries = (models as unknown as ModelConfig[]).map(({ provider = "", ...model }) => ({
    catalog: catalogs.get(provider) ?? provider,
    id: model.id,
    price: model.price,
    model,
  }));
  const unpriced = entries.find(({ price }) => price === undefined);
  if (unpriced !== undefined) throw new CommandError(`${name}: model "${unpriced.id}" has no price`);
  return { source: "TOML", isComplete: false, models: entries, invalid: [] };
}
