import type { Clock } from "../base/clock.ts";
import { ByteLimiter } from "./byte-limiter.ts";

/** What a key's compressed frames may become at once. The largest frame fits eight times. */
const maxBytes = 64 * 1024 * 1024;
/** More than many clients of one key send, and a few hundredths of the event loop's time. */
const bytesPerMs = (16 * 1024 * 1024) / 1000;

/**
 * Limits what the runtime inflates for a key. It does so on the event loop, before anybody can look: 8 KB become 8 MiB there, in
 * some 20 ms, and a single read of a connection may bring dozens of such frames.
 */
export class InflateLimiter extends ByteLimiter {
  constructor(clock: Clock) {
    super(clock, { maxBytes, bytesPerMs });
  }
}
