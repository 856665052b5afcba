import type { Recording } from "./turn-records.ts";

/** The response for a retry with the same Idempotency-Key. */
export interface StoredResponse {
  readonly keyId: string;
  readonly route: string;
  readonly idempotencyKey: string;
  readonly bodyHash: string;
  readonly status: number;
  /** Response headers that a replay sends again, such as `content-type`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body; with a `recording`, only what follows the parts that were written ahead. */
  readonly body: Uint8Array;
  readonly storedAtMs: number;
  readonly recording?: Recording;
}

/** Written ahead so that the gateway need not keep a long response in memory until its end. */
export interface ResponsePart {
  readonly recordingId: string;
  readonly sequence: number;
  readonly body: Uint8Array;
}
