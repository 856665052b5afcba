import type { Clock } from "../../base/clock.ts";
import { RateLimiter } from "../../limits/rate-limiter.ts";
import type { Guard } from "./guard.ts";
import { Lockout } from "./lockout.ts";
import { readLimits } from "./read-limits.ts";

type Limits = Pick<
  Guard,
  "lockout" | "memberChanges" | "deviceGuesses" | "deviceRequests" | "refreshes" | "reads"
>;

/** Limits that slow down guessing, and that bound a caller's work per minute. */
export function guardLimits(clock: Clock): Limits {
  return {
    lockout: new Lockout(clock),
    memberChanges: new RateLimiter(clock),
    deviceGuesses: new Lockout(clock),
    deviceRequests: new RateLimiter(clock),
    refreshes: new RateLimiter(clock),
    reads: readLimits(clock),
  };
}
