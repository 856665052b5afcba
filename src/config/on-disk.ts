import type { StoredPrices } from "./catalog/stored-prices.ts";
import type { ConfigProblem } from "./problems.ts";
import type { Settings } from "./settings.ts";

export interface CheckedConfig {
  /** Null for the built-in one. */
  readonly file: string | null;
  readonly origin: string;
  /** Null if the file could not be read at all; without the faulty parts if there are problems. */
  readonly settings: Settings | null;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
  /** Why each secret that the file refers to is missing here. The gateway starts without them; a warning says what is skipped. */
  readonly missingSecrets: readonly string[];
}

/** The operator's consent to a reload. A signal consents to nothing. */
export interface ReloadConsent {
  /** Keys can be suspended because their owners could no longer sign in. */
  readonly suspendsKeys: boolean;
}

export interface ReloadResult {
  /** Changes that were not applied, as sentences. */
  readonly needsRestart: readonly string[];
  /** The files whose new secrets are used from now on. */
  readonly newSecrets: readonly string[];
}

/** The file that a running gateway has its configuration from. */
export interface ConfigOnDisk {
  check(): Promise<CheckedConfig>;
  /** Reads the file, and vendors' own lists, with these prices above the catalog. Throws a ConfigError. */
  load(prices: StoredPrices | null): Promise<Settings>;
  /** Applies the file. Throws if the old configuration keeps running. */
  reload(consent: ReloadConsent): Promise<ReloadResult>;
}
