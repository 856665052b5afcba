import type { Clock } from "../../base/clock.ts";
import type { DeadlineTimer } from "./call-deadlines.ts";

/** Dependencies that all calls of an upstream share. */
export interface CallContext {
  readonly clock: Clock;
  readonly timer: DeadlineTimer;
  /** How long a stream's first frame can take before the stream is returned without it; 0: any time. */
  readonly heartbeatMs: number;
}
