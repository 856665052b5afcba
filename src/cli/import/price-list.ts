import type { ImportedModel, ImportedPrices } from "./imported.ts";
import { plainName } from "./plain-name.ts";

export interface ListedModel {
  readonly model: ImportedModel;
  /** The price is another vendor's, and may differ. */
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

/** Names are compared exactly first, then without the parts that clouds add. */
const comparisons = [(name: string) => name, plainName];

/** Models by the names that LiteLLM's configuration has for them. */
export class PriceList {
  readonly #models: readonly ImportedModel[];

  constructor({ models }: Pick<ImportedPrices, "models">) {
    this.#models = models;
  }

  /** Finds a model by the first name that is listed: preferably of this vendor, else of any. */
  find(vendor: string, names: readonly string[]): ListedModel | null {
    const others: ImportedModel[] = [];
    for (const compared of comparisons) {
      for (const name of names) {
        const matches = this.#models.filter(({ id }) => compared(id) === compared(name));
        const own = matches.find((model) => isFromVendor(model, vendor));
        if (own !== undefined) return { model: own, isOtherVendors: false };
        others.push(...matches);
      }
    }
    const [first] = others;
    return first === undefined ? null : { model: first, isOtherVendors: true };
  }
}

/** LiteLLM has several names for the vendors of one cloud: `bedrock_converse`, `vertex_ai-anthropic_models`. */
function isFromVendor({ vendor: seller }: ImportedModel, vendor: string): boolean {
  return seller.startsWith(vendor) || seller.startsWith(otherNames[vendor] ?? vendor);
}
