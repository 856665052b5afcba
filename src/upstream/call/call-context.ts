import type { Clock } from "../../base/clock.ts";
import type { DeadlineTimer } from "./call-deadlines.ts";

/** What all calls of an upstream share. */
export interface CallContext {
  readonly clock: Clock;
  readonly timer: DeadlineTimer;
  /** How long a stream's first frame may take before the stream is handed over without it; 0: any time. */
  readonly heartbeatMs: number;
}
