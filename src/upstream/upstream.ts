import type { AttemptRecord } from "../base/requests/attempt.ts";
import type { Usage } from "../base/usage/usage.ts";
import type { DeploymentSettings, ModelSettings } from "../config/settings.ts";
import type { ClientDialectName } from "../dialects/registry.ts";
import type { PreparedRequest, Provider } from "../vendors/provider.ts";
import type { Head } from "../wire/transfer.ts";

/** No model writes a larger response. Streams that are relayed as they arrive are not limited. */
export const maxProviderResponseBytes = 64 * 1024 * 1024;

/** A deployment of the configuration, with its provider resolved. */
export interface Deployment extends Omit<DeploymentSettings, "provider"> {
  /** For display: `provider/upstream_model`, without the operator's account number. */
  readonly name: string;
  /** For display: `upstreamModel` without the account number. */
  readonly shownModel: string;
  readonly provider: Provider;
  /** The model of the catalog: the plan's own, or one of its fallbacks. */
  readonly model: ModelSettings;
}

/** One exchange that needs a response from a deployment of a model. */
export interface Plan {
  readonly model: ModelSettings;
  /** The key's provider scope: a provider's name, or `all`. Other deployments are never tried. */
  readonly scope: string;
  /** The only deployment to try; null for any. Absent where there is never one. */
  readonly pinned?: Deployment | null;
  /** The id of the credential to use, if the request names objects that only that one can reach; else null. */
  readonly credential: string | null;
  /**
   * A hash of the client's conversation, which stays with the same deployment and credential while they can be used;
   * null for no preference. Read only where there is a choice.
   */
  readonly conversation: number | null;
  /** The client's key. Breakers count per key, and no two keys share a connection. */
  readonly keyId: string;
  readonly clientDialect: ClientDialectName;
  readonly stream: boolean;
  /** Non-streaming responses can have any content type, and are only inspected if they are JSON. */
  readonly takesAnyType?: boolean;
  /** A response of any other type than JSON is a stream of bytes. */
  readonly streamsAnyType?: boolean;
  /**
   * The request to send, which depends on the deployment's dialect and upstream name. May throw a GatewayError, e.g.
   * if it cannot be translated, which ends the exchange.
   */
  prepare(deployment: Deployment): PreparedRequest | Promise<PreparedRequest>;
  /** True once the client has disconnected, or the gateway has ended the exchange. */
  readonly isOver: boolean;
  /** Fires when `isOver` becomes true, with the gateway's error as its reason if the gateway ended it. */
  readonly signal: AbortSignal;
  /** Resolves once there is memory for a large response of this size. Absent if none is expected. */
  awaitMemory?(bytes: number): Promise<void>;
  /** Monotonic; ends every attempt and every body. */
  readonly deadlineMs: number;
}

/** A plan for counting input. */
export interface CountingPlan extends Plan {
  /** Whether the deployment can count tokens. */
  mayCount(deployment: Deployment): boolean;
}

/** A plan whose failed attempts are recorded. */
export interface GenerationPlan extends Plan {
  /** Logged with each failed attempt. */
  readonly requestId: string;
  /**
   * Called before an attempt at another model than the one before: sets aside what it may cost there. False if a limit denies it; its
   * deployments are then not tried. Absent where every attempt is paid for.
   */
  mayRun?(model: ModelSettings): boolean | Promise<boolean>;
  /** Strips signatures of earlier reasoning from further attempts. False if there is nothing left to strip. */
  dropSignatures(): boolean;
  /**
   * Called after each failed attempt. `left` of the record changes once another attempt is made. `credential` is the id of the
   * credential that was used; null if the provider needs none. `wasSent`: the client disconnected after the whole request was sent.
   * `reported`: the usage that the provider reported before it failed.
   */
  attemptFailed(
    deployment: Deployment,
    record: AttemptRecord,
    credential: string | null,
    wasSent: boolean,
    reported: Usage | null,
  ): void;
  /** Called with the body of a failed attempt, if there is one. Absent if nothing records it. */
  failedWith?(body: ReceivedBytes): void;
  /** Removes text that the client sent from a provider's message. */
  redactRequestText(message: string): string;
}

export type FailedAttempt = Parameters<GenerationPlan["attemptFailed"]>;

/**
 * A response that has begun: status 200, and JSON or an event stream. `streaming` tells which; it may differ from the
 * requested form. The first frame of a stream is not an error, unless it was too slow to be waited for. After this
 * there is no further attempt.
 */
export interface OpenedCall {
  readonly deployment: Deployment;
  readonly streaming: boolean;
  /** Number of attempts, including this one. */
  readonly attempts: number;
  /** The id of the credential that was used; null if the provider needs none. */
  readonly credential: string | null;
  /** The time until this attempt started to respond. */
  readonly answeredAfterMs: number;
  /** The provider's headers that are passed to the client. */
  readonly headers: Readonly<Record<string, string>>;
  /** The response's head; null before it was received. */
  readonly head: Pick<Head, "get"> | null;
  /** The whole body, if the response is not a stream. */
  bytes(): Uint8Array;
  /** The body in the pieces that arrived: joining a large one takes long. */
  readonly whole: ReceivedBytes;
  /**
   * The next bytes of a stream, null at its end; a promise only if they have not been received yet. Throws or rejects
   * with a GatewayError if the stream breaks off or misses a deadline.
   *
   * While the reader waits, pieces go straight to `taker`, in the callback that receives them. The reader wakes up, with
   * an empty piece, only when `taker` returns false; what it throws is thrown to the reader.
   */
  read(taker?: (piece: Uint8Array) => boolean): Uint8Array | null | Promise<Uint8Array | null>;
  /** Set if the call must outlive the client: its reader decides when to end it. */
  outlivesClient: boolean;
  /** Ends the call now. Safe at any time and more than once. */
  abort(): void;
  /** Reports the body's outcome to the breaker. Only the first call counts. */
  finished(outcome: "completed" | "failed" | "cancelled"): void;
}

export interface ReceivedBytes {
  readonly pieces: readonly Uint8Array[];
  /** The length of all pieces together. */
  readonly bytes: number;
}

/** The health of a provider's model, for operators. */
export interface DeploymentHealth {
  /** `provider/upstream_model`; several models of the catalog may share it. */
  readonly name: string;
  readonly provider: string;
  /**
   * `cooling`: the provider requested a cooldown for at least one client key. `open`: it failed too often. `half_open`:
   * one call can probe it.
   */
  readonly state: "closed" | "open" | "half_open" | "cooling";
  /** Until every client key may try it again; 0 if now. */
  readonly waitMs: number;
  readonly consecutiveFailures: number;
  /** Within the last 30 seconds. */
  readonly recentCalls: number;
  readonly recentFailures: number;
  readonly inFlight: number;
  /** Why it needs the operator's attention, e.g. `billing`; null after a response. */
  readonly alarm: string | null;
  /** Its last failure, unless it has responded since. */
  readonly failing: FailingCalls | null;
  /** Null unless it keeps callers waiting until they give up. */
  readonly slow: SlowCalls | null;
  /** When it first responded, or responded again after calls that failed or were cancelled; null if it has not. */
  readonly answeredAtMs: number | null;
  readonly waiting: number;
  readonly keys: number;
  readonly keysReady: number;
}

/** Calls within the last minutes, and the number that clients cancelled before the first byte. */
export interface SlowCalls {
  readonly calls: number;
  readonly cancelled: number;
}

/** Consecutive failed calls, without a response among them. */
export interface FailingCalls {
  /** Time of the first failure. */
  readonly sinceMs: number;
  /** When the failure described here happened. */
  readonly atMs: number;
  readonly failure: string;
  readonly providerMessage: string | null;
}
