import type { DialectName } from "../base/dialect.ts";
import type { ProviderSettings } from "../config/settings.ts";

export type Operation = DialectName | "count_tokens";

/** Headers of the client that may travel up, already picked from the allow-list. */
export type ForwardedHeaders = Readonly<Record<string, string>>;

/** What a vendor needs that others do not: addresses, credentials, and how it words its refusals. */
export interface Provider {
  readonly settings: ProviderSettings;
  url(operation: Operation): string;
  /** Complete request headers: content type, the credential in the vendor's scheme, what is forwarded. */
  headers(operation: Operation, apiKey: string | null, forwarded: ForwardedHeaders): Record<string, string>;
  /** `fetch`, or for the built-in demo a function of the same form that answers in process. */
  send(url: string, init: BunFetchRequestInit & { signal: AbortSignal }): Promise<Response>;
}
