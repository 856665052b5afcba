import type { Clock } from "../base/clock.ts";
import { ByteLimiter } from "./byte-limiter.ts";

/** The inflated size of a key's compressed frames at once: eight frames of the maximum size. */
const maxBytes = 64 * 1024 * 1024;
/** More than many clients of one key send, and a few percent of the event loop's time. */
const bytesPerMs = (16 * 1024 * 1024) / 1000;

/**
 * Limits what the runtime inflates for a key. It does so on the event loop, before Sluice sees the frame: 8 KB become
 * 8 MiB in some 20 ms, and one read of a connection may bring dozens of such frames.
 */
export class InflateLimiter extends ByteLimiter {
  constructor(clock: Clock) {
    super(clock, { maxBytes, bytesPerMs });
  }
}
