import type { Quirk } from "../dialects/openai-chat/quirks.ts";
import type { ProviderDialectName } from "../dialects/registry.ts";
import type { ProviderOptions } from "./options.ts";

export interface Timeouts {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly streamFirstByteMs: number;
  readonly gapMs: number;
  readonly totalMs: number;
}

/** One provider of the configuration, with its vendor's defaults filled in and its secrets resolved. */
export interface ProviderSettings {
  readonly name: string;
  /** The vendor's name in the registry. */
  readonly kind: string;
  /** Without a trailing slash; empty for a vendor that has no server. */
  readonly baseUrl: string;
  /** A pool; empty when the provider needs none. */
  readonly apiKeys: readonly string[];
  /** Settings that only this kind of provider has. */
  readonly options: ProviderOptions;
  readonly dialects: readonly ProviderDialectName[];
  readonly headers: Readonly<Record<string, string>>;
  /** How its chat differs from OpenAI's. */
  readonly quirks: readonly Quirk[];
  readonly streamUsage: boolean;
  readonly countTokens: boolean;
  /** Whether clients see the rate limits of the operator's account. */
  readonly rateLimitHeaders: boolean;
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  readonly maxConcurrent: number | null;
  readonly timeouts: Timeouts;
}
