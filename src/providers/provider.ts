import type { DialectName } from "../base/dialect.ts";
import type { ProviderSettings } from "../config/settings.ts";
import type { ForwardedHeaders } from "../dialects/headers.ts";
import type { Receiver, Transfer } from "../wire/transfer.ts";

export type Operation = DialectName | "count_tokens";

/** A request in a provider's own words, all but the credential. */
export interface Prepared {
  readonly operation: Operation;
  readonly body: Uint8Array | string;
  readonly headers: ForwardedHeaders;
}

/** What a vendor needs that others do not: addresses, credentials, and how it is reached. */
export interface Provider {
  readonly settings: ProviderSettings;
  /**
   * Sends a request; its answer goes to the receiver, which hears nothing before this has returned. Requests of
   * different callers never share a connection.
   */
  send(prepared: Prepared, apiKey: string | null, receiver: Receiver, caller: string): Transfer;
}
