import type { Catalog } from "../catalog/catalog.ts";
import type { Settings } from "../config/settings.ts";
import type { Upstream } from "../upstream/upstream.ts";

/** What a reload replaces, all at once. An exchange keeps what it began with. */
export interface ActiveConfig {
  readonly settings: Settings;
  readonly catalog: Catalog;
  readonly upstream: Upstream;
}
