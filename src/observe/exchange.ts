import type { AttemptRecord } from "../base/attempt.ts";
import type { Usage, UsageBasis } from "../base/usage.ts";

/**
 * What is known of one client request when it is over: the source of its log line, its metrics and its
 * trace. It holds no secret and no word of a prompt or an answer.
 */
export interface ExchangeFacts {
  readonly requestId: string;
  /** The id the caller sent along, if it was sane. */
  readonly callerRequestId: string | null;
  readonly method: string;
  readonly route: string;
  readonly atMs: number;
  readonly keyId: string | null;
  readonly keyPrefix: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly deployment: string | null;
  readonly stream: boolean;
  readonly status: number;
  /** `completed`, `failed` (5xx, or broken off), `cancelled`, `replayed`, or `refused` (4xx). */
  readonly outcome: string;
  readonly errorCode: string | null;
  /** The private cause of an error; for operators. */
  readonly cause: string | null;
  readonly usage: Usage | null;
  readonly basis: UsageBasis | null;
  /** Nano-credits for credit keys, tokens for token-budget keys. */
  readonly charged: number;
  /** What the use of a token-budget key would have cost; null for credit keys, and where there is no price. */
  readonly listCostNano: number | null;
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  readonly attempts: number;
  /** Those of them that failed before one was answered. */
  readonly failedAttempts: readonly AttemptRecord[];
}

/** Whoever wants to know of every exchange: the log, the metrics, the traces, the live tail. */
export type ExchangeObserver = (facts: ExchangeFacts) => void;

/**
 * Whether reports count it and operators can look it up: exchanges of a key are kept. What completed without usage was
 * no generation, but a list or a count.
 */
export function countsInReports({ keyId, outcome, usage }: ExchangeFacts): boolean {
  return keyId !== null && outcome !== "replayed" && !(outcome === "completed" && usage === null);
}
