import type { ErrorCode } from "../errors.ts";

/** One call to one deployment, as shown to operators. Contains no secret, prompt or response. */
export interface AttemptRecord {
  /** `provider/upstream_model`. */
  readonly deployment: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** The provider's HTTP status; null if none came. */
  readonly status: number | null;
  /** The error code that the client gets if this attempt is the last; null if it succeeded, or the client left first. */
  readonly code: ErrorCode | null;
  /** One word, such as `status_500`, `timeout` or `unreachable`; null if it succeeded. */
  readonly failure: string | null;
  /** The system's error code, such as `ECONNREFUSED`. */
  readonly cause: string | null;
  /** The provider's own message without secrets, at most 500 characters; null if it gave none. */
  readonly said: string | null;
  /** Time until the response began, or the attempt failed. */
  readonly durationMs: number;
  /** What followed: the next attempt, or the end. */
  readonly left: AttemptEnd;
  /** Models that did not run, because a limit denied them. Absent without any. */
  readonly denied?: readonly DeniedModel[];
}

/** A model that a limit kept from running. */
export interface DeniedModel {
  readonly model: string;
  /** The limit, in the words that a client reads. */
  readonly message: string;
}

export type AttemptEnd = "retry" | "other_key" | "next_deployment" | "ended";

const maxMessageLength = 500;

/** Truncates a provider's message to what is kept. */
export function truncateMessage(message: string): string {
  return message.length <= maxMessageLength ? message : message.slice(0, maxMessageLength).toWellFormed();
}

/** Shared by all exchanges whose first attempt succeeds, which are nearly all. */
export const noAttempts: readonly AttemptRecord[] = Object.freeze([]);
