import type { Clock } from "../../base/clock.ts";
import { Gates } from "../../limits/concurrency.ts";
import { RateLimiter } from "../../limits/rate-limiter.ts";
import { AdminError, clientGone } from "../routes/refusal.ts";

/** The limit for one key or person. */
const reportsPerMinute = 30;
/** A dashboard page requests three reports at once. */
const gateOptions = { limit: 1, queueLimit: 10, waitMs: 60_000 };

/** Limits reports, which read much of the ledger: one at a time per key or person, and a number per minute. */
export class ReportLimits {
  readonly #rates: RateLimiter;
  readonly #gates = new Gates(gateOptions);

  constructor(clock: Clock) {
    this.#rates = new RateLimiter(clock);
  }

  /** Runs the report after the caller's earlier ones are done. */
  async run<Result>(caller: string, signal: AbortSignal, report: () => Promise<Result>): Promise<Result> {
    const { allowed, retryAfterSeconds } = this.#rates.take(caller, reportsPerMinute);
    if (!allowed) throw tooMany(`more than ${reportsPerMinute} reports in a minute`, retryAfterSeconds);
    if (!(await this.#gates.enter(caller, signal))) {
      if (signal.aborted) throw clientGone();
      throw tooMany("too many reports at once; they run one at a time", 1);
    }
    try {
      return await report();
    } catch (error) {
      throw signal.aborted ? clientGone() : error;
    } finally {
      this.#gates.leave(caller);
    }
  }
}

function tooMany(what: string, waitSeconds: number): AdminError {
  const message = `You requested ${what}. Retry in ${waitSeconds} s.`;
  return new AdminError(429, "too_many_reports", message, {
    headers: { "retry-after": String(waitSeconds) },
  });
}
