import type { JsonObject } from "../base/json.ts";
import type { TokenPrice } from "../base/money/token-price.ts";
import type { SwitchedRoutes } from "../base/requests/route-switches.ts";
import type { ProviderDialectName } from "../dialects/registry.ts";

import type { ProviderSettings, Timeouts } from "../vendors/provider.ts";
import type { CatalogRule } from "./catalog/rule.ts";
import type { DecodedSection } from "./decode.ts";
import type { ownDeploymentSchema, ownModelSchema } from "./schema/model.ts";
import type { SectionSettings } from "./schema.ts";

/**
 * The configuration as the program uses it: with defaults, secrets resolved, references checked, times in milliseconds. What
 * the options of a section mean is written in the schema (schema.ts), and how they are called here in decode.ts. Built by `load.ts` and immutable. A reload builds a new one.
 */
export interface Settings {
  readonly server: ServerSettings;
  /** The PostgreSQL database that has the data; null if it is in the data folder. */
  readonly store: StoreAddress | null;
  readonly log: SectionSettings<"log">;
  readonly money: SectionSettings<"money">;
  /** `usd_per_credit` times one million, so that it is a whole number. */
  readonly microUsdPerCredit: number;
  /** How long requests and responses are stored, and the maximum number. The ledger is never pruned. */
  readonly retention: SectionSettings<"retention">;
  readonly responses: SectionSettings<"responses">;
  readonly batches: SectionSettings<"batches">;
  /** Settings for recording requests and responses; null if nothing is recorded. */
  readonly content: ContentSettings | null;
  /**
   * Maximum sizes of a request and its response that are recorded or traced; the rest is cut. Set without `[content]`
   * too.
   */
  readonly bodyLimits: BodyLimits;
  readonly websocket: WebSocketSettings;
  readonly routes: SwitchedRoutes;
  readonly admin: AdminSettings;
  readonly tracing: SectionSettings<"tracing"> | null;
  /** Where alerts are posted, and the secret that signs them; null if they are off. */
  readonly alerts: AlertSettings | null;
  /** Where the ledger's entries are pushed; null if they are not. */
  readonly feed: FeedSettings | null;
  /** Only usable providers. A provider without its `api_key` is skipped with a warning. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  readonly models: readonly ModelSettings[];
  /** All names in the file, aliases among them, including providers and models that are skipped because a secret is missing. */
  readonly named: { readonly providers: readonly string[]; readonly models: readonly string[] };
  /** Providers that serve models by the catalog, and by which patterns. */
  readonly catalogRules: readonly CatalogRule[];
  /** Models without an entry that providers serve to token-budget keys. */
  readonly unpricedModels: ModelBuilder;
  /** Models that are not served, because no provider of theirs can be used, and why. */
  readonly skippedModels: readonly { readonly model: string; readonly reason: string }[];
  /** For detecting whether the file has changed since; null for the built-in configuration. */
  readonly source: { readonly file: string; readonly digest: string } | null;
  /** The version of the stored prices that these models have; null if the built-in catalog's apply. */
  readonly storedPrices: string | null;
  /** A digest of each secret that was read from a file, by file, for detecting whether it was rotated. */
  readonly secretFiles: ReadonlyMap<string, string>;
  /** The file's content without secrets, for display. */
  readonly written: JsonObject;
  /** Only the built-in demo is configured, so the program is being tried out. */
  readonly isDemo: boolean;
  /** Warnings for the operator, e.g. a provider that is skipped. */
  readonly warnings: readonly string[];
}

export type ContentSettings = SectionSettings<"content">;
export type BodyLimits = Pick<ContentSettings, "maxRequestBytes" | "maxResponseBytes">;

export interface WebSocketSettings extends SectionSettings<"websocket"> {
  readonly maxConnections: number;
  /** The longest message, which is the most that the runtime collects for a socket. */
  readonly maxMessageBytes: number;
}

/** Names of people and `group:…` are in lower case, and so are headers. */
export interface AdminSettings
  extends Omit<SectionSettings<"admin">, "members" | "memberKeys" | "signIns" | "managedSettings" | "oidc"> {
  readonly members: readonly string[] | "everyone";
  /** The terms on which members can have keys; empty if they cannot. The first that matches a person applies. */
  readonly memberKeys: readonly MemberKeyTerms[];
  readonly signIns: SignInSettings;
  readonly managedSettings: readonly ManagedSettings[];
  readonly oidc: OidcSettings | null;
}

/** Null for everyone. */
type ForWhom = readonly string[] | null;

export interface MemberKeyTerms {
  readonly for: ForWhom;
  readonly account: string;
  readonly cap: string | null;
  /** Null for all. */
  readonly models: readonly string[] | null;
}

export type SignInSettings = NonNullable<SectionSettings<"admin">["signIns"]>;

export interface ManagedSettings {
  readonly for: ForWhom;
  readonly claudeCode: JsonObject;
}

export interface OidcSettings extends NonNullable<SectionSettings<"admin">["oidc"]> {
  readonly clientSecret: string;
}

export interface AlertSettings extends SectionSettings<"alerts"> {
  readonly url: string;
}

export interface FeedSettings extends Omit<SectionSettings<"feed">, "since"> {
  readonly url: string;
  /** Null for the first entry. */
  readonly sinceMs: number | null;
}

/** A secret, or the file that is read with every connection, and what it held when the configuration was loaded. */
type StorePassword = string | { readonly file: string; readonly atStart: string };

export interface StoreAddress {
  /** May hold a password. */
  readonly url: string;
  /** Used if the URL holds none. */
  readonly password: StorePassword | null;
  readonly prepare: boolean;
}

/** `data` is absolute. */
export interface ServerSettings extends SectionSettings<"server"> {
  readonly node: string;
  readonly maxBodyMemory: number;
}

/** Requests for an extra without a price here are rejected. */
export interface Price extends TokenPrice {
  /**
   * Add-on prices in whole pico-USD each, by name in the configuration: audio and image tokens, units (by quality and size, as
   * `images.high/1024x1024`), and calls of hosted tools.
   */
  readonly extras?: Readonly<Record<string, number>>;
  /** The names that it has in the configuration, where `input` or `output` is not among them; these are 0 then. */
  readonly names?: readonly string[];
  /** By service tier, except for the default one. */
  readonly tiers?: Readonly<Record<string, TokenPrice>>;
  /** The prices that replace it, each from a moment on, in their order. These have no later ones of their own. */
  readonly later?: readonly LaterPrice[];
  /** The factor from the provider's own price to these prices, in ten-thousandths; absent if they are equal. */
  readonly markupParts?: number;
}

/** A price that has been announced. It replaces the one before it. */
export interface LaterPrice {
  /** Midnight UTC of its day. */
  readonly fromMs: number;
  readonly price: Price;
}

export interface DeploymentSettings extends DecodedSection<(typeof ownDeploymentSchema)["properties"]> {
  readonly provider: string;
  readonly upstreamModel: string;
  /** The model's real name, if `upstreamModel` hides it. */
  readonly family: string | null;
  /** The provider's dialects, or the subset that this model takes. */
  readonly dialects: readonly ProviderDialectName[];
  readonly maxTokensField: ProviderSettings["maxTokensField"];
  /** Null if neither the deployment nor the model has one. */
  readonly price: Price | null;
  readonly timeouts: Timeouts;
}

type OwnModelSettings = DecodedSection<(typeof ownModelSchema)["properties"]>;
export type Affinity = OwnModelSettings["affinity"];

/** Builds models by the names that clients send. */
export interface ModelBuilder {
  /** Null if no provider serves the model. */
  build(id: string): ModelSettings | null;
  /** Tells the operator how to get the model served. */
  advice(id: string): string;
}

export interface ModelSettings extends OwnModelSettings {
  /** It has no entry: its name came from a client. */
  readonly isUnlisted?: true;
  readonly ownedBy: string;
  /** In seconds. */
  readonly created: number;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly price: Price | null;
  /** Where its prices come from: its entry in the file, or the built-in catalog. Null if it has none. */
  readonly priceSource: "config" | "catalog" | null;
  /** The longest that a request to it may take: its own limit, or the server's. */
  readonly requestTimeoutMs: number;
  /** At least one. The first one's provider is shown as the model's `provider`. */
  readonly deployments: readonly DeploymentSettings[];
}
