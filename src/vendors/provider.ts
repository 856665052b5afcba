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

export interface FileBody {
  readonly path: string;
  readonly contentType: string;
}

/** A request in a provider's dialect. The vendor adds its target and the credential. */
export interface PreparedRequest {
  readonly dialect: ProviderDialectName;
  /** What it asks for: one of the paths that a dialect has. */
  readonly purpose: keyof DialectPaths;
  /** Its name, if it is metered: the end of its path, or what the vendor puts there. */
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

/** An answer with any status but 200, and as much of its body as was read. */
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
  /** What the refusal is about, if the vendor's own codes say otherwise than the status does. */
  readonly about?: ProviderErrorSubject;
}

/**
 * What a refusal is about. `request`: the client's request. `credential`: it is not accepted. `expired`: it is not
 * accepted any more, and a new one may be. `unpaid`: the account behind it has no credit left, or has reached its spending
 * limit. `account`: the operator's account, settings or model name. `busy`: too many requests, for this credential at
 * least. `overloaded`: the same for all. `timeout`: it took too long, and was perhaps paid for. `failure`: the provider's
 * own fault. `passing`: the same, and likely gone at the next attempt. `generation`: what the model wrote; a retry may succeed,
 * and the client may act on it. `signatures`: signatures of earlier reasoning that belong to another account or model.
 */
export type ProviderErrorSubject =
  | "request"
  | "credential"
  | "expired"
  | "unpaid"
  | "account"
  | "busy"
  | "overloaded"
  | "timeout"
  | "failure"
  | "passing"
  | "generation"
  | "signatures";

/** One provider of the configuration, ready to be called. */
export interface Provider {
  readonly settings: ProviderSettings;
  /** Empty if it needs none. */
  readonly credentials: readonly Credential[];
  /**
   * Sends a request. Its answer goes to the receiver, which is not called before this has returned. Requests of
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
