import type { Catalog } from "../catalog/catalog.ts";
import type { Settings } from "../config/settings.ts";
import type { Upstream } from "../upstream/providers.ts";

/** The state that a reload replaces, all at once. An exchange keeps the state that it began with. */
export interface ActiveConfig {
  readonly settings: Settings;
  readonly catalog: Catalog;
  readonly upstream: Upstream;
}
