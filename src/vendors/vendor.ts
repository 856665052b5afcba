import type { ProviderDialectName } from "../dialects/registry.ts";
import type { Dial } from "../wire/http-client.ts";
import type { Provider } from "./provider.ts";
import type { ProviderSettings } from "./settings.ts";

/** Everything in which one vendor differs from the others. */
export interface Vendor {
  readonly defaults: VendorDefaults;
  /** Who answers nobody without a key, at its own address; other addresses may need none. */
  readonly keys: "required" | "optional" | "none";
  /** The dialects that the vendor defines: there it refuses what it does not know. */
  readonly strictDialects: readonly ProviderDialectName[];
  /** What its models can do unless the configuration says otherwise; for vendors whose names tell nothing. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly baseUrl: BaseUrlRules;
  create(settings: ProviderSettings, dial?: Dial): Provider;
}

/** What an operator need not write. */
export type VendorDefaults = Pick<ProviderSettings, "dialects" | "maxTokensField" | "countTokens">;

export interface BaseUrlRules {
  /** Null where the operator has to name the address; empty where there is none. */
  readonly default: string | null;
  /** An address that works, to show to an operator who has to write one. */
  readonly example: string;
  /** What is odd about an address that was written, as the end of a sentence that begins with its name. */
  pathWarning(path: string): string | null;
}
