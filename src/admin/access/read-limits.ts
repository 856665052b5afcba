import type { Clock } from "../../base/clock.ts";
import { Gates } from "../../limits/concurrency.ts";
import { RateLimiter } from "../../limits/rate-limiter.ts";
import { AdminError, clientGone } from "../formats/admin-error.ts";
import type { LimitedRead, ReadGuard } from "./guard.ts";

/** For one key or person. Reports read much of the ledger, and a dashboard page requests three at once. */
const limits: Readonly<Record<LimitedRead, { readonly perMinute: number; readonly waiting: number }>> = {
  reports: { perMinute: 30, waiting: 10 },
  documents: { perMinute: 300, waiting: 50 },
};
const waitMs = 60_000;

/** Limits reads of one kind: one at a time per key or person, and a number per minute. */
export class ReadLimits implements ReadGuard {
  readonly #kind: LimitedRead;
  readonly #rates: RateLimiter;
  readonly #gates: Gates;

  constructor(kind: LimitedRead, clock: Clock) {
    this.#gates = new Gates({ limit: 1, queueLimit: limits[kind].waiting, waitMs });
    this.#kind = kind;
    this.#rates = new RateLimiter(clock);
  }

  /** Runs the read after the caller's earlier ones are done. */
  async run<Result>(caller: string, signal: AbortSignal, read: () => Promise<Result>): Promise<Result> {
    const { perMinute } = limits[this.#kind];
    const { allowed, retryAfterSeconds } = this.#rates.take(caller, perMinute);
    if (!allowed) throw this.#tooMany(`more than ${perMinute} ${this.#kind} in a minute`, retryAfterSeconds);
    if (!(await this.#gates.enter(caller, signal))) {
      if (signal.aborted) throw clientGone();
      throw this.#tooMany(`too many ${this.#kind} at once; they are read one at a time`, 1);
    }
    try {
      return await read();
    } catch (error) {
      throw signal.aborted ? clientGone() : error;
    } finally {
      this.#gates.leave(caller);
    }
  }

  #tooMany(what: string, waitSeconds: number): AdminError {
    const message = `You requested ${what}. Retry in ${waitSeconds} s.`;
    return new AdminError(429, `too_many_${this.#kind}`, message, {
      headers: { "retry-after": String(waitSeconds) },
    });
  }
}

export function readLimits(clock: Clock): Readonly<Record<LimitedRead, ReadGuard>> {
  return { reports: new ReadLimits("reports", clock), documents: new ReadLimits("documents", clock) };
}
