import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { type RateLimits, type RateVerdict, unlimited } from "./verdict.ts";

/** Where the buckets are that several gateways share. */
export interface RateTokenSource {
  /** Rejects if it does not answer in time. */
  takeToken(keyId: string, capacity: number): Promise<{ readonly granted: boolean; readonly level: number }>;
}

/**
 * Buckets that several gateways share. A bucket here has at least as many tokens as the shared one, because only this
 * gateway takes from it. If it is empty, the request is refused without asking; otherwise the shared one decides.
 */
export class SharedRateLimits implements RateLimits {
  readonly #local: RateLimiter;
  readonly #source: RateTokenSource;

  constructor(clock: Clock, source: RateTokenSource) {
    this.#local = new RateLimiter(clock);
    this.#source = source;
  }

  take(keyId: string, rpmLimit: number | null): RateVerdict | Promise<RateVerdict> {
    if (rpmLimit === null) return unlimited;
    const local = this.#local.take(keyId, rpmLimit);
    return local.allowed ? this.#takeShared(keyId, rpmLimit) : local;
  }

  async #takeShared(keyId: string, rpmLimit: number): Promise<RateVerdict> {
    try {
      const { granted, level } = await this.#source.takeToken(keyId, rpmLimit);
      return this.#local.lower(keyId, rpmLimit, level, granted);
    } catch (cause) {
      throw new GatewayError(
        "service_unavailable",
        "The gateway cannot check the key's rate limit at the moment. Retry shortly.",
        { retryAfterSeconds: 5, cause },
      );
    }
  }
}
