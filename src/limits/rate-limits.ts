import type { RateVerdict } from "./verdict.ts";

/** One bucket per key, shared by all who take from it. */
export interface RateLimits {
  take(keyId: string, rpmLimit: number | null): RateVerdict | Promise<RateVerdict>;
}
