import { Repeating } from "../base/loop/repeating.ts";
import { servesOwnList } from "../config/catalog/own-lists.ts";
import type { StoredPrices } from "../config/catalog/stored-prices.ts";
import type { ConfigOnDisk } from "../config/on-disk.ts";
import { reloadable } from "../config/reload.ts";
import type { Settings } from "../config/settings.ts";
import type { Log } from "../observe/log.ts";
import type { Store } from "../store/store.ts";

type StoreOfPrices = Pick<Store, "admin">;

/** The prices that the store has above the built-in catalog; null for none. */
export async function readStoredPrices({ admin }: StoreOfPrices): Promise<StoredPrices | null> {
  const stored = await admin.readPrices();
  if (stored === null) return null;
  // The cast holds because `sluice models update` wrote the text.
  return { version: stored.version, catalogs: JSON.parse(stored.content) as StoredPrices["catalogs"] };
}

/** The settings at start: as in the file, with the current prices from the store and from vendors' own lists. */
export async function settingsWithStoredPrices(
  { settings, configOnDisk }: { readonly settings: Settings; readonly configOnDisk?: ConfigOnDisk },
  store: StoreOfPrices,
): Promise<Settings> {
  if (configOnDisk === undefined) return settings;
  const prices = await readStoredPrices(store);
  if ((prices?.version ?? null) === settings.storedPrices && !servesOwnList(settings)) return settings;
  const next = await configOnDisk.load(prices);
  // What would need a restart is not new: this is the start.
  return { ...reloadable(settings, next).settings, warnings: next.warnings };
}

export interface PriceWatchOptions {
  readonly store: Pick<Store, "admin" | "nodes">;
  /** The version of the prices that the gateway runs with. */
  running(): string | null;
  readonly configOnDisk: ConfigOnDisk | undefined;
  readonly log: Pick<Log, "warn">;
}

const pollEveryMs = 2_000;

/** Reloads the configuration on each gateway of a store when its prices were changed. */
export class PriceWatch {
  readonly #options: PriceWatchOptions;
  readonly #looking = new Repeating();
  /** A reload that was rejected is not tried again for the same prices; the log and a command have the reason. */
  #tried: string | null | undefined;
  #isFailing = false;

  constructor(options: PriceWatchOptions) {
    this.#options = options;
  }

  start(): void {
    const { configOnDisk, store } = this.#options;
    // Without a database that others write, the operation that stores prices reloads them.
    if (configOnDisk !== undefined && store.nodes !== null)
      this.#looking.start(pollEveryMs, () => this.#look());
  }

  stop(): void {
    void this.#looking.stop();
  }

  async #look(): Promise<void> {
    const { store, running, configOnDisk, log } = this.#options;
    try {
      const version = await store.admin.pricesVersion();
      if (version === running()) this.#tried = undefined;
      else if (version !== this.#tried) {
        this.#tried = version;
        await configOnDisk?.reload({ suspendsKeys: false });
      }
      this.#isFailing = false;
    } catch (err) {
      if (!this.#isFailing) log.warn({ err }, "the stored prices could not be applied");
      this.#isFailing = true;
    }
  }
}
