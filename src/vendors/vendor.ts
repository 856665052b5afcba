import type { ProviderDialectName } from "../dialects/registry.ts";
import type { Dial } from "../wire/http-client.ts";
import type { TokenSources } from "./credentials/token-sources.ts";
import type { Provider } from "./provider.ts";
import type { ProviderSettings } from "./settings.ts";

/** What differs between vendors. */
export interface Vendor {
  readonly defaults: VendorDefaults;
  /** `required` applies to the vendor's default address; a custom one may need no key. */
  readonly keys: "required" | "optional" | "none";
  /** The dialects that the vendor itself defines: in these it rejects unknown fields. */
  readonly strictDialects: readonly ProviderDialectName[];
  /** Defaults for the models' `capabilities`, if they cannot be inferred from the models' names. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly baseUrl: BaseUrlRules;
  create(settings: ProviderSettings, context: VendorContext): Provider;
}

/** What vendors share. */
export interface VendorContext {
  readonly tokens: TokenSources;
  /** How connections are made; absent except in tests. */
  readonly dial?: Dial;
}

/** Defaults for settings that an operator may omit. */
export type VendorDefaults = Pick<ProviderSettings, "dialects" | "maxTokensField" | "countTokens">;

export interface BaseUrlRules {
  /** Null if the operator has to configure it; empty if the vendor has no server. */
  readonly default: string | null;
  /** A working address, shown to an operator who has to configure one. */
  readonly example: string;
  /** A warning about a configured address, as the end of a sentence that starts with the setting's name. */
  pathWarning(path: string): string | null;
}
