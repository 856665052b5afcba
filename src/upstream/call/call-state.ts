import type { Clock } from "../../base/clock.ts";
import type { DeadlineTimer } from "./call-deadlines.ts";

/**
 * The state of an upstream call:
 *
 *     awaits_head ─→ refusal ─→ failed
 *                 ─→ whole ─→ complete
 *                 ─→ unnamed ─→ whole
 *                            ─→ first_frame
 *                 ─→ first_frame ─→ early_stream ─→ streaming
 *                                ─→ opening ─→ streaming
 *                                ─→ streaming ─→ draining ─→ complete
 *
 * `failed` can follow every state except `complete`. The caller gets the response at the transition to `early_stream`,
 * `streaming` or `complete`, whichever comes first.
 */
export type CallState =
  /** The request is sent, or waits for a connection. */
  | "awaits_head"
  /** The status is not 200; the error's body is collected. */
  | "refusal"
  /** A non-streaming response is collected. */
  | "whole"
  /** A stream was requested, but the content type is another one: the first bytes decide. */
  | "unnamed"
  /** A stream is collected up to its first frame: an error in it can still get its own status. */
  | "first_frame"
  /** The events that announce the response have arrived, and wait for content: a failure can still get its own status. */
  | "opening"
  /** Handed over before its first frame, so that the client can be sent heartbeats. */
  | "early_stream"
  /** Handed over. */
  | "streaming"
  /** Its reader is done; the rest is discarded, so that the connection can be reused. */
  | "draining"
  /** Received to the end. What is queued can still be read. */
  | "complete"
  /** Ended early, by the provider, the client or a deadline. What is queued can still be read. */
  | "failed";

/** Dependencies that all calls of an upstream share. */
export interface CallContext {
  readonly clock: Clock;
  readonly timer: DeadlineTimer;
  /** How long a stream's first frame can take before the stream is returned without it; 0: any time. */
  readonly heartbeatMs: number;
}
