import type { ForwardedHeaders } from "../dialects/headers.ts";
import type { Credential } from "./credentials/credential.ts";
import type { ProviderSettings } from "./provider.ts";

/** A request of a batch: its id there, and its body in the provider's dialect. */
export interface SentLine {
  readonly id: string;
  readonly body: Uint8Array | string;
}

export interface BatchProgress {
  readonly hasEnded: boolean;
  /** How many requests it has. */
  readonly count: number;
}

export interface ListedBatch extends BatchProgress {
  readonly id: string;
  readonly createdAtMs: number;
}

export type ProviderResult = { readonly id: string } & (
  | { readonly kind: "response"; readonly body: Uint8Array }
  /** `text` is a body of that status. */
  | { readonly kind: "error"; readonly status: number; readonly text: string }
  /** The provider did not run it. */
  | { readonly kind: "cancelled" | "expired" }
);

/** A vendor's own batches. */
export interface VendorBatches {
  at(settings: ProviderSettings, credential: Credential): ProviderBatches;
  /** A line of results; null for what cannot be read, so that other lines get their results. */
  readResult(line: Uint8Array): ProviderResult | null;
}

/** The batches of one credential. All reject with a `BatchCallFailed`. */
export interface ProviderBatches {
  /** The vendor whose results these are. */
  readonly kind: ProviderSettings["kind"];
  /** Returns the provider's id. */
  create(lines: readonly SentLine[], headers: ForwardedHeaders, timeoutMs: number): Promise<string>;
  progress(id: string): Promise<BatchProgress>;
  cancel(id: string): Promise<void>;
  /** Batches that were created since then, newest first. */
  list(sinceMs: number): Promise<readonly ListedBatch[]>;
  /** The lines of its results, in any order, each in the pieces that arrived. Throws where the response breaks off. */
  results(id: string): AsyncIterable<readonly Uint8Array[]>;
}

export class BatchCallFailed extends Error {
  override readonly name = "BatchCallFailed";
  /** Null without a response. */
  readonly status: number | null;
  /** The provider has certainly not received it. */
  readonly isUnsent: boolean;

  constructor(message: string, status: number | null, isUnsent: boolean, cause?: unknown) {
    super(message, { cause });
    this.status = status;
    this.isUnsent = isUnsent;
  }

  /** It was certainly not accepted. */
  get isRejected(): boolean {
    return this.isUnsent || (this.status !== null && this.status >= 400 && this.status < 500);
  }

  /** It may be accepted later. */
  get isPassing(): boolean {
    return this.status === null || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}
