import { Value } from "@sinclair/typebox/value";
import { ModelListUnavailable, vendorModels } from "../../admin/models/vendor-models.ts";
import { Repeating } from "../../base/loop/repeating.ts";
import { modelPatternForm } from "../../base/models/model-pattern.ts";
import { plural } from "../../base/text/plural.ts";
import { ownListProviders } from "../../config/catalog/own-lists.ts";
import type { StoredModel, StoredPrices } from "../../config/catalog/stored-prices.ts";
import { ConfigError } from "../../config/problems.ts";
import { modelSchema } from "../../config/schema/model.ts";
import type { Settings } from "../../config/settings.ts";
import type { VendorModel } from "../../vendors/model-list.ts";

const retryEveryMs = 30_000;
/** OpenRouter has about 400. */
const maxModels = 2_000;

type Load = (prices: StoredPrices | null) => Promise<Settings>;

/**
 * The models and prices of vendors that the gateway reads from the vendor itself, at the start and with each reload. A vendor that
 * cannot be reached is tried again, and its models of the last reading stay meanwhile.
 */
export class OwnLists {
  readonly #note: (text: string) => void;
  readonly #lists = new Map<string, readonly StoredModel[]>();
  readonly #missing = new Set<string>();
  readonly #retrying = new Repeating();

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /** Loads the settings, with the models of each list that they serve. */
  async load(load: Load, stored: StoredPrices | null): Promise<Settings> {
    const settings = await load(this.over(stored));
    const hasRead = await this.#read(settings);
    if (!hasRead) return settings;
    try {
      return await load(this.over(stored));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      // A list must not keep the gateway from starting.
      for (const catalog of this.#lists.keys()) this.#missing.add(catalog);
      this.#lists.clear();
      this.#note(`the providers' own lists are not used: ${error.message}`);
      return load(stored);
    }
  }

  /** Prices that an operator has stored override the lists. */
  over(stored: StoredPrices | null): StoredPrices | null {
    if (this.#lists.size === 0) return stored;
    const catalogs = { ...stored?.catalogs };
    for (const [catalog, listed] of this.#lists) {
      const byId = new Map(listed.map((model) => [model.id, model]));
      for (const model of stored?.catalogs[catalog] ?? [])
        byId.set(model.id, { ...byId.get(model.id), ...model });
      catalogs[catalog] = [...byId.values()];
    }
    return { version: stored?.version ?? null, catalogs };
  }

  /** Reloads once a list that was unavailable can be read. */
  retryWith(reload: () => Promise<unknown>, everyMs = retryEveryMs): void {
    this.#retrying.start(everyMs, async () => {
      // The error has been reported.
      if (this.#missing.size > 0) await reload().catch(() => {});
    });
  }

  stop(): void {
    void this.#retrying.stop();
  }

  /** Whether a list is other than before. */
  async #read(settings: Settings): Promise<boolean> {
    const readings = ownListProviders(settings).map(async ([catalog, name]) => {
      const provider = settings.providers.get(name);
      if (provider === undefined) return false;
      try {
        const listed = (await vendorModels(provider)).slice(0, maxModels);
        // Of two entries with one name the last counts.
        const models = [...new Map(listed.flatMap(storedModel).map((model) => [model.id, model])).values()];
        if (models.length === 0) throw new ModelListUnavailable("lists no model with a price");
        const isNew = !Bun.deepEquals(models, this.#lists.get(catalog));
        if (isNew) this.#note(`provider "${name}": ${plural(models.length, "model")} from its own list`);
        this.#lists.set(catalog, models);
        this.#missing.delete(catalog);
        return isNew;
      } catch (error) {
        if (!(error instanceof ModelListUnavailable)) throw error;
        const kept = this.#lists.has(catalog) ? "the models read before stay" : "it has no models until then";
        if (!this.#missing.has(catalog))
          this.#note(
            `provider "${name}": its list cannot be read: ${error.message}. Sluice tries again every 30 s; ${kept}`,
          );
        this.#missing.add(catalog);
        return false;
      }
    });
    return (await Promise.all(readings)).includes(true);
  }
}

/** Empty for a model without a price, or with a name or limit that a configuration cannot have. */
function storedModel({
  id,
  price,
  contextWindow,
  maxOutputTokens,
  capabilities,
}: VendorModel): readonly StoredModel[] {
  if (price === null || !modelPatternForm.test(id) || id.includes("*")) return [];
  const model: StoredModel = {
    id,
    ...(contextWindow === null ? {} : { context_window: contextWindow }),
    ...(maxOutputTokens === null || maxOutputTokens > (contextWindow ?? maxOutputTokens)
      ? {}
      : { max_output_tokens: maxOutputTokens }),
    ...(capabilities === undefined ? {} : { capabilities }),
    price,
    price_checked: new Date().toISOString().slice(0, 10),
  };
  return Value.Check(modelSchema, { ...model, provider: "own" }) ? [model] : [];
}
