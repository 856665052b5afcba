import { isObject, type JsonObject } from "../../base/json.ts";
import type { ImportedModel, ImportedPrices } from "./imported.ts";
import { readLiteLlmPrices } from "./litellm-prices.ts";
import { readModelsDev } from "./models-dev.ts";

/** A file that is neither of the two that are understood. */
export class UnknownPriceFile extends Error {
  override readonly name = "UnknownPriceFile";
}

export function readPrices(text: string): ImportedPrices {
  const document = parsed(text);
  const entries = Object.values(document).filter(isObject);
  if (entries.some((entry) => isObject(entry["models"]))) return readModelsDev(document);
  if (entries.some((entry) => "litellm_provider" in entry)) return readLiteLlmPrices(document);
  throw new UnknownPriceFile("it is neither LiteLLM's price file nor the API dump of models.dev");
}

function parsed(text: string): JsonObject {
  try {
    const document: unknown = JSON.parse(text);
    if (isObject(document)) return document;
  } catch {
    throw new UnknownPriceFile("it is not JSON");
  }
  throw new UnknownPriceFile("it is not a JSON object");
}

export interface Choice {
  /** Only what this vendor sells. */
  readonly vendor?: string | undefined;
  /** Only names that fit, with `*` for anything. */
  readonly match?: string | undefined;
}

export function choose(models: readonly ImportedModel[], { vendor, match }: Choice): ImportedModel[] {
  const glob = match === undefined ? null : new Bun.Glob(match);
  const fitting = models.filter(
    (model) => (vendor === undefined || model.vendor === vendor) && (glob === null || glob.match(model.id)),
  );
  // The same name from several vendors would be the same model twice in one configuration.
  return [...new Map(fitting.toReversed().map((model) => [model.id, model])).values()].toReversed();
}
