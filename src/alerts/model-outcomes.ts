import { msPerHour, msPerMinute } from "../base/clock.ts";
import type { ExchangeFacts } from "../observe/exchange.ts";

export type ObservedRequest = Pick<
  ExchangeFacts,
  | "tracedAs"
  | "model"
  | "isUnlistedModel"
  | "outcome"
  | "status"
  | "errorCode"
  | "firstByteMs"
  | "totalMs"
  | "endedAtMs"
>;

/** A model none of whose requests succeeds. */
export interface UnavailableModel {
  readonly model: string;
  /** When the first request failed. */
  readonly sinceMs: number;
  /** How the last one failed; null if its client gave up waiting. */
  readonly lastError: { readonly status: number; readonly code: string } | null;
}

const unavailableAfterMs = msPerMinute;
/** One client's retries of one request are no evidence yet. */
const minFailures = 3;
const successesToRecover = 5;
/** A client that gives up sooner is no evidence: completions at each keystroke are cancelled all the time. */
const minWaitMs = 5_000;
const forgottenAfterMs = msPerHour;

/** The failures of a model since its last success; of an unavailable one, since it was last available. */
interface Failures {
  readonly sinceMs: number;
  count: number;
  latestMs: number;
  lastError: UnavailableModel["lastError"];
  isUnavailable: boolean;
  successesInARow: number;
}

/**
 * Which models are unavailable: there were requests for at least a minute, and none succeeded, whatever the reason. A model recovers
 * with five successes in a row, and is forgotten after an hour without a request.
 */
export class ModelOutcomes {
  readonly #failing = new Map<string, Failures>();

  observe(request: ObservedRequest): void {
    const { tracedAs, model, isUnlistedModel, outcome } = request;
    if (tracedAs === null || model === null || isUnlistedModel === true) return;
    if (outcome === "completed") this.#succeeded(model);
    else if (outcome === "failed" || hasGivenUp(request)) this.#failed(model, request);
  }

  unavailable(nowMs: number): UnavailableModel[] {
    const found: UnavailableModel[] = [];
    for (const [model, failures] of this.#failing) {
      const { sinceMs, count, latestMs, lastError } = failures;
      if (nowMs - latestMs > forgottenAfterMs) {
        this.#failing.delete(model);
        continue;
      }
      failures.isUnavailable ||= count >= minFailures && nowMs - sinceMs >= unavailableAfterMs;
      if (failures.isUnavailable) found.push({ model, sinceMs, lastError });
    }
    return found;
  }

  #succeeded(model: string): void {
    const failures = this.#failing.get(model);
    if (failures === undefined) return;
    failures.successesInARow += 1;
    const needed = failures.isUnavailable ? successesToRecover : 1;
    if (failures.successesInARow >= needed) this.#failing.delete(model);
  }

  #failed(model: string, { status, errorCode, endedAtMs }: ObservedRequest): void {
    const failures = this.#failing.get(model) ?? {
      sinceMs: endedAtMs,
      count: 0,
      latestMs: endedAtMs,
      lastError: null,
      isUnavailable: false,
      successesInARow: 0,
    };
    failures.count += 1;
    failures.latestMs = endedAtMs;
    failures.lastError = errorCode === null ? null : { status, code: errorCode };
    failures.successesInARow = 0;
    this.#failing.set(model, failures);
  }
}

function hasGivenUp({ outcome, firstByteMs, totalMs }: ObservedRequest): boolean {
  return outcome === "cancelled" && firstByteMs === null && totalMs >= minWaitMs;
}
