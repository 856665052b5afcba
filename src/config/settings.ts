import type { HostedToolName } from "../base/hosted-tools.ts";
import type { ProviderSettings, Timeouts } from "../vendors/settings.ts";

/**
 * The configuration as the program uses it: every default filled in, every secret resolved, every
 * cross-reference checked, times in milliseconds. Made by `load.ts` and never changed afterwards; a reload
 * makes a new one.
 */
export interface Settings {
  readonly server: ServerSettings;
  readonly log: { readonly level: string; readonly format: "auto" | "json" | "pretty" };
  /** `usd_per_credit` times one million, so that it is a whole number. */
  readonly microUsdPerCredit: number;
  /** How long, and how many, endings of exchanges are kept; the ledger is kept for ever. */
  readonly retention: { readonly exchangesMs: number; readonly exchangeRows: number };
  readonly admin: {
    readonly token: string | null;
    /** Null where the admin side is on the main listener. */
    readonly listen: string | null;
    readonly metricsListen: string | null;
  };
  readonly tracing: {
    readonly otlpEndpoint: string;
    readonly headers: Readonly<Record<string, string>>;
  } | null;
  /** Only providers that can be used: those without their `api_key` are left out, with a warning. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  readonly models: readonly ModelSettings[];
  /** All names in the file, also of providers and models that are left out for want of a secret. */
  readonly named: { readonly providers: readonly string[]; readonly models: readonly string[] };
  /** Only the built-in demo is configured: somebody is trying the program out. */
  readonly isDemo: boolean;
  /** What an operator should know although it is no error, such as a provider left out. */
  readonly warnings: readonly string[];
}

export interface ServerSettings {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly reusePort: boolean;
  readonly trustedProxies: readonly string[];
  readonly maxBodyBytes: number;
  /** For all bodies that are being read at once. */
  readonly maxBodyMemoryBytes: number;
  /** How much structure a body may have, beside its bytes. */
  readonly structure: { readonly maxMembers: number; readonly maxListItems: number };
  /** 0 turns heartbeats off. */
  readonly heartbeatMs: number;
  readonly shutdownGraceMs: number;
  readonly stalledReaderMs: number;
  readonly maxConcurrent: number;
  readonly maxConcurrentPerKey: number | null;
  readonly anonymousRpm: number;
}

/** Whole pico-USD per token (see base/money.ts). */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
}

/** What has no price here is refused where it would cost something. */
export interface Price extends TokenPrice {
  readonly audioInput?: number;
  readonly audioOutput?: number;
  /** Whole pico-USD per call of a hosted tool. */
  readonly calls?: { readonly [Name in HostedToolName]?: number };
  /** By service tier, beside the usual one. */
  readonly tiers?: Readonly<Record<string, TokenPrice>>;
}

export interface DeploymentSettings {
  readonly provider: string;
  readonly upstreamModel: string;
  readonly priority: number;
  readonly weight: number;
  readonly maxConcurrent: number | null;
  /** Null where the model has no price of its own either. */
  readonly price: Price | null;
  readonly timeouts: Timeouts;
}

export interface ModelSettings {
  readonly id: string;
  readonly displayName: string | null;
  readonly tagline: string | null;
  readonly ownedBy: string;
  readonly createdSeconds: number;
  readonly public: boolean;
  readonly free: boolean;
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly price: Price | null;
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** At least one; the first's provider is the model's own for `provider` and for a key's scope. */
  readonly deployments: readonly DeploymentSettings[];
  readonly fallbacks: readonly string[];
}
