import type { Refusal } from "../dialects/errors/refusal.ts";
import type { ForwardedHeaders } from "../dialects/headers.ts";
import type { ProviderDialectName } from "../dialects/registry.ts";
import type { Head, Receiver, Transfer } from "../wire/transfer.ts";
import type { ProviderSettings } from "./settings.ts";

/** A request in a provider's own words, all but where it goes and the credential, which are the vendor's affair. */
export interface Prepared {
  readonly dialect: ProviderDialectName;
  readonly purpose: "generate" | "count_tokens";
  /** As the provider calls it; some vendors want it in the request's target. */
  readonly model: string;
  readonly stream: boolean;
  readonly body: Uint8Array | string;
  readonly headers: ForwardedHeaders;
}

/** An answer with any status but 200, and as much of its body as was read. */
export interface RefusedAnswer {
  readonly head: Head;
  readonly text: string;
  /** By the wall clock, for those who say when to come back as a date. */
  readonly receivedAtMs: number;
}

export interface VendorRefusal extends Refusal {
  /** How long the provider asks to be left alone; null if it does not say. */
  readonly retryAfterMs: number | null;
}

/** One configured provider: where it is, how it is asked, and how it is reached. */
export interface Provider {
  readonly settings: ProviderSettings;
  /**
   * Sends a request; its answer goes to the receiver, which hears nothing before this has returned. Requests of
   * different callers never share a connection.
   */
  send(prepared: Prepared, apiKey: string | null, receiver: Receiver, caller: string): Transfer;
  /** Only the vendor knows where its refusals have their message, their code and their Retry-After. */
  readRefusal(answer: RefusedAnswer): VendorRefusal;
}
