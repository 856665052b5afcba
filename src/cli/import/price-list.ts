import type { ImportedModel, ImportedPrices } from "./imported.ts";
import { plainName } from "./plain-name.ts";

export interface ListedModel {
  readonly model: ImportedModel;
  /** The list has it from another vendor, whose price may differ. */
  readonly isOtherVendors: boolean;
}

/** models.dev has other names for some vendors than LiteLLM. */
const otherNames: Readonly<Record<string, string>> = {
  bedrock: "amazon-bedrock",
  bedrock_converse: "amazon-bedrock",
  vertex_ai: "google-vertex",
  gemini: "google",
  azure_ai: "azure",
};

/** Models by the names that LiteLLM's configuration has for them. */
export class PriceList {
  readonly #models: readonly ImportedModel[];

  constructor({ models }: Pick<ImportedPrices, "models">) {
    this.#models = models;
  }

  /** By the first name that is listed: of the vendor itself if it is there, and else of any. */
  find(vendor: string, names: readonly string[]): ListedModel | null {
    const others: ImportedModel[] = [];
    for (const isSame of [sameId, samePlainName]) {
      for (const name of names) {
        const fitting = this.#models.filter((model) => isSame(model, name));
        const own = fitting.find((model) => isOf(model, vendor));
        if (own !== undefined) return { model: own, isOtherVendors: false };
        others.push(...fitting);
      }
    }
    const [first] = others;
    return first === undefined ? null : { model: first, isOtherVendors: true };
  }
}

function sameId({ id }: ImportedModel, name: string): boolean {
  return id === name;
}

function samePlainName({ id }: ImportedModel, name: string): boolean {
  return plainName(id) === plainName(name);
}

/** LiteLLM tells vendors of one cloud apart: `bedrock_converse`, `vertex_ai-anthropic_models`. */
function isOf({ vendor: seller }: ImportedModel, vendor: string): boolean {
  return seller.startsWith(vendor) || seller.startsWith(otherNames[vendor] ?? vendor);
}
