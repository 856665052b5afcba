import type { JsonObject } from "../base/json.ts";
import type { Quirk } from "../dialects/contract/quirks.ts";
import type { ForwardedHeaders } from "../dialects/headers.ts";
import type { MemberChanges } from "../dialects/json/patch.ts";
import type { FieldVendor } from "../dialects/names/billed-fields.ts";
import type { ProviderDialectName } from "../dialects/registry.ts";
import type { Dial } from "../wire/http-client.ts";
import type { VendorBatches } from "./batches.ts";
import type { TokenSources } from "./credentials/token-sources.ts";
import type { ModelList } from "./model-list.ts";
import type { AuthenticationWay, ProviderOptions, VendorOptionName } from "./options.ts";
import type { PreparedRequest, Provider, ProviderSettings } from "./provider.ts";
import type { VendorUsageReports } from "./usage-report.ts";

/** The differences between vendors. */
export interface Vendor {
  readonly defaults: VendorDefaults;
  /** Defaults that depend on other settings of the provider. They take precedence over `defaults`. */
  defaultsFor?(configured: ConfiguredSettings): Partial<VendorDefaults>;
  /** Defaults by model name, where models differ. Settings of the model or its provider take precedence. */
  modelDefaults?(name: string, settings: ProviderSettings): Partial<ModelDefaults>;
  /** Per-model differences from the defaults here. Configured quirks take precedence. */
  modelTraits?(name: string): ModelTraits;
  /** `required` applies to the vendor's default address; a custom one may need no key. */
  readonly keys: "required" | "optional" | "none";
  /**
   * Its name in OpenTelemetry's conventions for generative AI (`gen_ai.provider.name`); null or absent if they do not name
   * it.
   */
  genAiName?(settings: ProviderSettings): string | null;
  /** The vendor's own settings. */
  readonly options?: readonly VendorOptionName[];
  /** Defaults of options that are not set. */
  readonly optionDefaults?: ProviderOptions;
  /** Default: an API key. */
  readonly authentication?: readonly AuthenticationWay[];
  /** Values of `credentials` in place of a reference to a key file. */
  readonly credentialKeywords?: readonly string[];
  /** Problems with its own settings, beyond those that their schemas find. */
  checkOptions?(options: ProviderOptions): readonly OptionProblem[];
  /** Warnings about its own settings, or a model's, that may be intended. */
  lint?(options: ProviderOptions, upstreamModel: string): readonly OptionWarning[];
  /** The dialect for counting tokens, if it differs from the dialect for responses. */
  countingDialect?(options: ProviderOptions): ProviderDialectName | null;
  /** The dialects that the vendor itself defines: in these it rejects unknown fields. */
  readonly strictDialects: readonly ProviderDialectName[];
  /**
   * The vendors whose fields it acts on, beyond those that its dialects define. Absent for an unknown server: it may
   * act on all, and read other spellings of a name, as servers written in Go do.
   */
  readonly fieldsOf?: readonly FieldVendor[];
  /** It has its own web search in these dialects, which agents offer by default. */
  readonly searchesIn?: readonly ProviderDialectName[];
  /** It has a batch API, which costs less than single requests. */
  readonly sellsBatches?: true;
  /** It has no service tier that costs less because it may take longer. */
  readonly lacksFlex?: true;
  /** It compacts conversations of the Responses API itself. */
  readonly compactsResponses?: true;
  /** Defaults for the models' `capabilities`, if they cannot be inferred from the models' names. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** Fields that the provider's settings add to every translated request. */
  requestFields?(options: ProviderOptions, dialect: ProviderDialectName): JsonObject;
  readonly baseUrl: BaseUrlRules;
  /** The formats of metered requests that a model accepts; a route has one or none of them. Absent if there are none. */
  meteredFormats?(name: string, settings: ProviderSettings): readonly string[];
  /**
   * Changes to bodies of a dialect. Null if the vendor accepts them unchanged with these settings: they are not even
   * parsed then.
   */
  bodyChanges?(dialect: ProviderDialectName, options: ProviderOptions): BodyChanger | null;
  /** Headers of the request that the vendor would reject, and that are dropped. */
  droppedHeaders?(
    dialect: ProviderDialectName,
    headers: ForwardedHeaders,
    options: ProviderOptions,
  ): readonly string[];
  /** The requests for listing its models; absent if it has no list. */
  modelLists?(settings: ProviderSettings): readonly ModelList[];
  /** Its own batches, which cost less; absent if Sluice cannot use them. */
  readonly batches?: VendorBatches;
  /** The vendor's usage and cost reports; absent if it offers none. */
  readonly usageReports?: VendorUsageReports;
  create(settings: ProviderSettings, context: VendorContext): Provider;
}

/**
 * Changes to a body; the rest is sent unchanged. Fields that can be removed without harm are added to `dropped`. Throws a 400
 * for those that the client would miss.
 */
export type BodyChanger = (body: JsonObject, request: BodyContext, dropped: Set<string>) => MemberChanges;

/** A request whose body is adapted to a vendor. Plain data, because large bodies are adapted on another thread. */
export interface BodyContext {
  readonly dialect: ProviderDialectName;
  readonly purpose: PreparedRequest["purpose"];
  /** The name that its capabilities are inferred from. */
  readonly model: string;
  /** Client headers that may be forwarded. */
  readonly headers: ForwardedHeaders;
  /** The provider's own settings, without its secrets. */
  readonly options: ProviderOptions;
}

/** What vendors share. */
export interface VendorContext {
  readonly tokens: TokenSources;
  /** Opens connections; absent except in tests. */
  readonly dial?: Dial;
}

/** Defaults for settings that an operator may omit. */
export type VendorDefaults = Pick<ProviderSettings, "dialects" | "maxTokensField" | "countTokens"> & {
  readonly streamUsage?: boolean;
  readonly quirks?: readonly Quirk[];
};

/** The differences between the models of one vendor. */
export type ModelDefaults = Pick<ProviderSettings, "dialects" | "maxTokensField">;

export interface ModelTraits {
  /** False for another maker's model: it takes what compatible servers do, and not all that the vendor's own models take. */
  readonly isStrict?: false;
  readonly quirks?: readonly Quirk[];
}

/** The parts of the operator's configuration that defaults depend on. */
export interface ConfiguredSettings {
  /** Undefined if it follows from the options or from the vendor. */
  readonly baseUrl: string | undefined;
  readonly dialects: readonly ProviderDialectName[] | undefined;
  readonly options: ProviderOptions;
}

export interface OptionProblem {
  readonly option: VendorOptionName;
  readonly message: string;
}

/** `message` ends a sentence that starts with the setting's name. */
export interface OptionWarning {
  readonly about: VendorOptionName | "upstream_model";
  readonly message: string;
}

export interface BaseUrlRules {
  /** Null if the operator has to configure it; empty if the vendor has no server. */
  readonly default: string | null;
  /**
   * The URL that follows from the vendor's own settings; null if they do not determine one. Takes precedence over the
   * default.
   */
  derive?(configured: ConfiguredSettings): string | null;
  /** The settings that a host of the vendor implies, from which a URL would follow. */
  settingsIn?(host: string): ProviderOptions;
  /** The shorter equivalent setting. */
  readonly alternative?: VendorOptionName;
  /** A working address, shown to an operator who has to configure one. */
  readonly example: string;
  /** A warning about a configured address, as the end of a sentence that starts with the setting's name. */
  pathWarning(path: string): string | null;
}
