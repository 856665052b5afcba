import type { Catalog } from "../../catalog/catalog.ts";
import { codexModel } from "../../catalog/codex-model.ts";
import type { PublicModel } from "../../catalog/public-model.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { isCharged, routesFor } from "../../dialects/metered/registry.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { isPayable } from "../request/model.ts";
import { googleModel } from "./google-model.ts";

/** Codex compares the ETag with the one of its last list. */
interface CodexList {
  readonly body: Blob;
  readonly etag: string;
}

/** The models that callers with the same permissions see, at the prices of a moment. Each format is written once, on first use. */
export class ListedModels {
  readonly #catalog: Catalog;
  readonly #models: readonly PublicModel[];
  #plain: Blob | null = null;
  #codex: CodexList | null = null;
  #google: readonly string[] | null = null;

  constructor(catalog: Catalog, key: KeyRecord | null, atMs: number) {
    this.#catalog = catalog;
    this.#models = catalog.list(key === null ? catalog.publicModels() : usable(catalog, key), atMs);
  }

  get length(): number {
    return this.#models.length;
  }

  /** By the contract the list has no field but these two. Anthropic's clients stop paging where `has_more` is absent. */
  get plain(): Blob {
    this.#plain ??= encoded({ object: "list", data: this.#models });
    return this.#plain;
  }

  get codex(): CodexList {
    this.#codex ??= this.#writeForCodex();
    return this.#codex;
  }

  /** Each model as JSON, because callers choose their pages. */
  get google(): readonly string[] {
    this.#google ??= this.#models.flatMap((each) => {
      const model = this.#catalog.find(each.id);
      return model === undefined ? [] : [JSON.stringify(googleModel(each, model))];
    });
    return this.#google;
  }

  #writeForCodex(): CodexList {
    const generates = ({ id }: PublicModel) => this.#catalog.find(id)?.serves.includes("generation");
    const models = this.#models.filter(generates).map(codexModel);
    return { body: encoded({ models }), etag: `"${Bun.SHA256.hash(JSON.stringify(models), "hex")}"` };
  }
}

/** A blob is not copied for each response. */
function encoded(value: object): Blob {
  return new Blob([JSON.stringify(value)]);
}

function usable(catalog: Catalog, key: KeyRecord): readonly ModelSettings[] {
  const models = catalog.modelsFor(key);
  return key.mode === "credit" ? models.filter(isForCredit) : models;
}

/** A model without a price is rejected for credit keys, on the routes that are charged. */
function isForCredit(model: ModelSettings): boolean {
  return isPayable(model) || routesFor(model.serves).some((route) => !isCharged(route));
}

/** Maximum number of models in all kept lists together. Each takes about 1 KB in all formats. */
const maxKeptModels = 20_000;

/** The lists of one configuration by permissions. The ones that were not used for longest are dropped. */
class KeptLists {
  readonly #byPermissions = new Map<string, ListedModels>();
  #models = 0;

  find(catalog: Catalog, key: KeyRecord | null, atMs: number): ListedModels {
    const priced = catalog.pricesStartedMs(atMs);
    const permissions = JSON.stringify(key === null ? [priced] : [priced, key.mode, key.scope, key.models]);
    const kept = this.#byPermissions.get(permissions);
    const list = kept ?? new ListedModels(catalog, key, atMs);
    if (kept === undefined) this.#models += list.length;
    else this.#byPermissions.delete(permissions);
    this.#byPermissions.set(permissions, list);
    this.#dropOldest();
    return list;
  }

  #dropOldest(): void {
    for (const [permissions, { length }] of this.#byPermissions) {
      if (this.#models <= maxKeptModels || this.#byPermissions.size === 1) return;
      this.#byPermissions.delete(permissions);
      this.#models -= length;
    }
  }
}

/** A reload makes another catalog. */
const keptLists = new WeakMap<Catalog, KeptLists>();

/** The public catalog without a key, else the key's own models. Writing 936 of them for each call took 1 ms. */
export function modelListFor(
  { configured: { catalog }, atMs }: Exchange,
  key: KeyRecord | null,
): ListedModels {
  const kept = keptLists.get(catalog) ?? new KeptLists();
  keptLists.set(catalog, kept);
  return kept.find(catalog, key, atMs);
}
