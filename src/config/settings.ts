import type { JsonObject } from "../base/json.ts";
import type { ModelUse } from "../base/models/model-uses.ts";
import type { TokenPrice } from "../base/money/token-price.ts";
import type { ContentLevel, recordedLevels } from "../base/requests/content-level.ts";
import type { SwitchedRoutes } from "../base/requests/route-switches.ts";
import type { ProviderDialectName } from "../dialects/registry.ts";

import type { ProviderSettings, Timeouts } from "../vendors/provider.ts";
import type { CatalogRule } from "./catalog/rule.ts";
import type { affinities, cacheSettings } from "./defaults.ts";

/**
 * The configuration as the program uses it: with defaults, secrets resolved, references checked, times in milliseconds.
 * Built by `load.ts` and immutable. A reload builds a new one.
 */
export interface Settings {
  readonly server: ServerSettings;
  /** The PostgreSQL database that has the data; null if it is in the data folder. */
  readonly store: StoreAddress | null;
  readonly log: { readonly level: string; readonly format: "auto" | "json" | "pretty" };
  /** `usd_per_credit` times one million, so that it is a whole number. */
  readonly microUsdPerCredit: number;
  /** How long exchanges are kept, and how many at most. The ledger is kept for ever. */
  readonly retention: {
    readonly requestsMs: number;
    readonly requestRows: number;
    /** 0 keeps no responses. */
    readonly responsesMs: number;
    readonly responseBytesPerKey: number;
  };
  readonly responses: {
    readonly state: "gateway" | "provider";
    /** 32 bytes; null if stored responses are not encrypted. */
    readonly encryptionKey: Uint8Array | null;
    readonly compactionMaxTokens: number;
  };
  /** What is recorded of requests and responses; null if nothing is. */
  readonly content: ContentSettings | null;
  readonly webSocket: WebSocketSettings;
  readonly routes: SwitchedRoutes;
  readonly admin: AdminSettings;
  readonly tracing: {
    readonly otlpEndpoint: string;
    readonly headers: Readonly<Record<string, string>>;
    /** The most of what requests and responses say that spans have; null if they have none of it. */
    readonly content: BodyLimits | null;
  } | null;
  /** Where alerts are posted, and what signs them; null if they are off. */
  readonly alerts: { readonly url: string; readonly secret: string | null } | null;
  /** Only usable providers. Those without their `api_key` are left out, with a warning. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  readonly models: readonly ModelSettings[];
  /** All names in the file, aliases among them, including providers and models that are left out because a secret is missing. */
  readonly named: { readonly providers: readonly string[]; readonly models: readonly string[] };
  /** Providers that serve models by the catalog, and by which patterns. */
  readonly catalogRules: readonly CatalogRule[];
  /** Models that are not served, because no provider of theirs can be used, and why. */
  readonly leftOut: readonly { readonly model: string; readonly reason: string }[];
  /** Tells whether the file has changed since; null for the built-in configuration. */
  readonly source: { readonly file: string; readonly digest: string } | null;
  /** The file's content without secrets, for display. */
  readonly written: JsonObject;
  /** Only the built-in demo is configured, so the program is being tried out. */
  readonly isDemo: boolean;
  /** For the operator, but not errors, e.g. a provider that is left out. */
  readonly warnings: readonly string[];
}

/** How many bytes of a request and of its response are recorded; the rest is cut. */
export interface BodyLimits {
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
}

export interface ContentSettings {
  readonly record: (typeof recordedLevels)[number];
  /** From 0 to 1. */
  readonly sample: number;
  readonly keptMs: number;
  readonly maxBytes: number;
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
  /** 32 bytes; null if content is not encrypted. */
  readonly key: Uint8Array | null;
  readonly recordsUpstream: boolean;
  readonly membersSeeOwn: boolean;
}

export interface WebSocketSettings {
  /** Open at once, of all keys. */
  readonly maxConnections: number;
  readonly maxConnectionsPerKey: number;
  /** The longest message, which is the most that the runtime collects for a socket. */
  readonly maxMessageBytes: number;
  readonly maxMs: number;
  /** Responses at once on one of them; more of them wait. */
  readonly maxConcurrent: number;
  readonly maxStreams: number;
  readonly maxQueued: number;
}

export interface AdminSettings {
  readonly token: string | null;
  /** Null if the admin side is on the main listener. */
  readonly listen: string | null;
  readonly metricsListen: string | null;
  /** The origin in people's browsers; null if it is the one that they asked. */
  readonly publicUrl: string | null;
  /** Names of people and `group:…`, in lower case. */
  readonly people: {
    readonly admins: readonly string[];
    readonly viewers: readonly string[];
    readonly holders: readonly string[] | "everyone";
  };
  /** On which account holders may make keys, and with which cap; null if they may not. */
  readonly holdersMayCreate: { readonly account: string; readonly cap?: string } | null;
  /** In which a trusted proxy says who signed in, and their groups. */
  readonly userHeader: string | null;
  readonly groupsHeader: string | null;
  readonly oidc: OidcSettings | null;
}

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  readonly userClaim: string;
  readonly groupsClaim: string;
  readonly trustEmail: boolean;
}

export interface StoreAddress {
  /** May hold a password. */
  readonly url: string;
  /** Used if the URL holds none. */
  readonly password: string | null;
  readonly prepare: boolean;
}

export interface ServerSettings {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** For display. */
  readonly node: string;
  readonly reusePort: boolean;
  readonly trustedProxies: readonly string[];
  /** Origins whose pages may call the interface; `*` for all. */
  readonly corsOrigins: readonly string[];
  /** Whether the same key in `Authorization` and `x-api-key` counts as one. */
  readonly acceptsKeyTwice: boolean;
  readonly maxBodyBytes: number;
  /** For all bodies being read at the same time. */
  readonly maxBodyMemoryBytes: number;
  /** Limits on the structure of a body, beside its size. */
  readonly structure: { readonly maxMembers: number; readonly maxListItems: number };
  /** 0 turns heartbeats off. */
  readonly heartbeatMs: number;
  readonly shutdownGraceMs: number;
  /** The longest that a generation may take; a model may have its own. */
  readonly requestTimeoutMs: number;
  readonly clientIdleTimeoutMs: number;
  readonly maxConcurrent: number;
  readonly maxConcurrentPerKey: number | null;
  readonly anonymousRpm: number;
}

/** Requests for an extra without a price here are rejected. */
export interface Price extends TokenPrice {
  /**
   * Whole pico-USD for one of each thing beside plain tokens, by its name in the configuration: tokens of audio and images, units
   * (by quality and size as `images.high/1024x1024`), and calls of hosted tools.
   */
  readonly extras?: Readonly<Record<string, number>>;
  /** The names that it has in the configuration, where `input` or `output` is not among them; these are 0 then. */
  readonly names?: readonly string[];
  /** By service tier, except for the default one. */
  readonly tiers?: Readonly<Record<string, TokenPrice>>;
}

export interface DeploymentSettings {
  readonly provider: string;
  readonly upstreamModel: string;
  /** The model's real name, if `upstreamModel` hides it. */
  readonly family: string | null;
  /** The provider's dialects, or the subset that this model takes. */
  readonly dialects: readonly ProviderDialectName[];
  readonly maxTokensField: ProviderSettings["maxTokensField"];
  readonly priority: number;
  readonly weight: number;
  readonly maxConcurrent: number | null;
  /** Null if neither the deployment nor the model has one. */
  readonly price: Price | null;
  readonly timeouts: Timeouts;
}

export type CacheSetting = (typeof cacheSettings)[number];
export type Affinity = (typeof affinities)[number];

export interface ModelSettings {
  readonly id: string;
  /** Other names that clients may ask for it by. */
  readonly aliases: readonly string[];
  readonly listAliases: boolean;
  readonly displayName: string | null;
  readonly tagline: string | null;
  readonly ownedBy: string;
  readonly createdSeconds: number;
  readonly public: boolean;
  readonly serves: readonly ModelUse[];
  readonly free: boolean;
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  /** The most that one image may take; null if that is not known. */
  readonly imageTokensMax: number | null;
  readonly price: Price | null;
  /** Where its prices come from: its entry in the file, or the built-in catalog. Null if it has none. */
  readonly priceSource: "config" | "catalog" | null;
  /** The day on which the price was last compared with the provider's list, as YYYY-MM-DD; null if unknown. */
  readonly priceChecked: string | null;
  /** Fields that pass although they may cost something that has no price here. */
  readonly allow: readonly string[];
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Whether translated requests to Claude are marked for its cache. */
  readonly cache: CacheSetting;
  /** Whether a conversation stays with one deployment and one credential. */
  readonly affinity: Affinity;
  /** What may be recorded of its requests at most; null leaves that to `[content]`. */
  readonly content: ContentLevel | null;
  /** The longest that an exchange with it may take: its own limit, or the server's. */
  readonly requestTimeoutMs: number;
  /** At least one. The first one's provider is shown as the model's `provider`. */
  readonly deployments: readonly DeploymentSettings[];
  readonly fallbacks: readonly string[];
}
