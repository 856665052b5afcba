import type { DialectPaths } from "../dialects/contract/provider-dialect.ts";
import type { Quirk } from "../dialects/contract/quirks.ts";
import type { ProviderErrorBody } from "../dialects/errors/error-body.ts";
import type { ForwardedHeaders } from "../dialects/headers.ts";
import type { ProviderDialectName } from "../dialects/registry.ts";
import type { Head, Receiver, Transfer } from "../wire/transfer.ts";
import type { Credential, CredentialUse } from "./credentials/credential.ts";
import type { ProviderOptions } from "./options.ts";

export interface Timeouts {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly streamFirstByteMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
}

/** One provider of the configuration, with its vendor's defaults filled in and its secrets resolved. */
export interface ProviderSettings {
  readonly name: string;
  /** The vendor's name in the registry. */
  readonly kind: string;
  /** Without a trailing slash; empty for a vendor without a server. */
  readonly baseUrl: string;
  /** A pool; empty when the provider needs none. */
  readonly apiKeys: readonly string[];
  /** Settings that only this kind of provider has. */
  readonly options: ProviderOptions;
  readonly dialects: readonly ProviderDialectName[];
  readonly headers: Readonly<Record<string, string>>;
  /** Differences of its chat from OpenAI's. */
  readonly quirks: readonly Quirk[];
  readonly streamUsage: boolean;
  readonly countTokens: boolean;
  /** Whether clients see the rate limits of the operator's account. */
  readonly rateLimitHeaders: boolean;
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  readonly maxConcurrent: number | null;
  readonly timeouts: Timeouts;
}

export interface FileBody {
  readonly path: string;
  readonly contentType: string;
}

/** A request in a provider's dialect. The vendor adds its target and the credential. */
export interface PreparedRequest {
  readonly dialect: ProviderDialectName;
  /** The purpose of the request: one of the paths that a dialect has. */
  readonly purpose: keyof DialectPaths;
  /** Its name, if it is metered: the end of its path, or the vendor's replacement for it. */
  readonly method?: string;
  /** The provider's name for it. Some vendors put it into the request's target. */
  readonly model: string;
  readonly stream: boolean;
  readonly body: Uint8Array | string;
  /** A body that is on disk, sent in place of `body`. */
  readonly file?: FileBody;
  readonly headers: ForwardedHeaders;
  /** Headers that differ with each request; absent if it belongs to no trace. */
  readonly trace?: ForwardedHeaders | null;
}

/** A response with any status except 200, and the part of its body that was read. */
export interface ErrorResponse {
  readonly head: Head;
  readonly text: string;
  /** Wall clock; a Retry-After that is a date counts from here. */
  readonly receivedAtMs: number;
}

export interface ProviderError extends ProviderErrorBody {
  /** Null if the provider sent none. */
  readonly retryAfterMs: number | null;
  /** Set if the credential's quota is used up: how long until it is renewed. */
  readonly quotaResetMs?: number;
  /** The subject of the rejection, if the vendor's own codes differ from the status. */
  readonly about?: ProviderErrorSubject;
}

/**
 * The subject of a rejection. `request`: the client's request. `credential`: it is not accepted. `expired`: it is no
 * longer accepted, and a new one may be. `unpaid`: the account of the credential has no credit left, or has reached its
 * spending limit. `account`: the operator's account, settings or model name. `busy`: too many requests, at least for
 * this credential. `overloaded`: too many requests from everyone. `timeout`: it took too long, and may have been
 * billed. `failure`: the provider's own fault. `passing`: the provider's fault, and likely gone at the next attempt.
 * `generation`: the text that the model wrote; a retry may succeed, and the client may act on it. `signatures`:
 * signatures of earlier reasoning that belong to another account or model.
 */
export type ProviderErrorSubject =
  | ("request" | "credential" | "expired" | "unpaid" | "account" | "busy" | "overloaded" | "timeout")
  | ("failure" | "passing" | "generation" | "signatures");

/** One provider of the configuration, ready to be called. */
export interface Provider {
  readonly settings: ProviderSettings;
  /** Empty if it needs none. */
  readonly credentials: readonly Credential[];
  /**
   * Sends a request. Its response goes to the receiver, which is not called before this has returned. Requests of
   * different callers never share a connection.
   */
  send(
    prepared: PreparedRequest,
    credential: CredentialUse | null,
    receiver: Receiver,
    caller: string,
  ): Transfer;
  /** Reads the message, code and Retry-After of an error, whose format depends on the vendor. */
  readProviderError(answer: ErrorResponse): ProviderError;
  /** Advice for the operator about an error, by the vendor's own codes; null if there is none. */
  advise?(answer: ErrorResponse, model: string): string | null;
}
