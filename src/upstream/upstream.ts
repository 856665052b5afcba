import type { AttemptRecord } from "../base/attempt.ts";
import type { DeploymentSettings, ModelSettings } from "../config/settings.ts";
import type { ClientDialectName } from "../dialects/registry.ts";
import type { Prepared, Provider } from "../vendors/provider.ts";

/** A deployment with its provider in hand: what an attempt is made against. */
export interface Deployment extends Omit<DeploymentSettings, "provider"> {
  /** Unique and readable, `provider/upstream_model`. */
  readonly name: string;
  readonly provider: Provider;
  /** The model it serves: the plan's own, or one of its fallbacks. */
  readonly model: ModelSettings;
}

/** One exchange's wish to be answered by some deployment of a model. */
export interface Plan {
  readonly model: ModelSettings;
  /** The key's provider scope: a provider's name, or `all`. Other deployments are never tried. */
  readonly scope: string;
  /** The client's key: one key's failures alone say nothing about a deployment, and no two share a connection. */
  readonly keyId: string;
  readonly clientDialect: ClientDialectName;
  readonly stream: boolean;
  /**
   * What an attempt sends; made per deployment, because dialect and upstream name depend on it. May throw a
   * GatewayError (a translation that cannot be made); that ends the exchange. Only large bodies are waited for.
   */
  prepare(deployment: Deployment): Prepared | Promise<Prepared>;
  /** Whether the client has left, or the gateway has ended the exchange. */
  readonly isOver: boolean;
  /** Fires when it is over, with the gateway's error as its reason where that is why. For those who have to wait. */
  readonly signal: AbortSignal;
  /** Monotonic; no attempt or body outlives it. */
  readonly deadlineMs: number;
}

/** A plan whose attempts are accounted for one by one. */
export interface GenerationPlan extends Plan {
  /** The exchange's id, under which the log has its failed attempts. */
  readonly requestId: string;
  /** Called after each failed attempt. `left` of the record changes once another attempt is made. */
  attemptFailed(deployment: Deployment, record: AttemptRecord): void;
}

/**
 * A provider that has answered well: status 200 and the content type that was asked for (a JSON body for a
 * stream request, or the other way round, is let through and told by `streaming`). For streams the first
 * bytes have been seen and are no error. From here on there is no second attempt.
 */
export interface Opened {
  readonly deployment: Deployment;
  readonly streaming: boolean;
  /** How many attempts were made, this one included. */
  readonly attempts: number;
  /** How long this attempt took to begin to answer. */
  readonly answeredAfterMs: number;
  /** Headers of the provider that may reach the client, already picked from the allow-list. */
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body, of an answer that is not a stream. */
  bytes(): Uint8Array;
  /**
   * The next bytes of a stream, null at its end, at once where they have come already. Throws or rejects
   * with a GatewayError on silence, reset or deadline.
   */
  read(): Uint8Array | null | Promise<Uint8Array | null>;
  /** Ends the upstream call now; safe at any time and more than once. */
  abort(): void;
  /** Tells the breaker how the body went; exactly once, later calls do nothing. */
  finished(outcome: "completed" | "failed" | "cancelled"): void;
}

export interface Upstream {
  /**
   * Tries deployment by deployment until one answers. Throws a GatewayError in the words of the decisions'
   * table: `provider_unavailable`, `invalid_request` with the provider's message, `service_unavailable`, …
   */
  open(plan: GenerationPlan): Promise<Opened>;
  /**
   * The provider's own count of the input, null when it offers none or does not answer well; never throws for
   * a provider's failure. `prepare` makes a `count_tokens` request; `deadlineMs` is how long to wait for it.
   */
  countTokens(plan: Plan): Promise<number | null>;
  health(): DeploymentHealth[];
}

/** How a provider's model is doing, as operators see it. */
export interface DeploymentHealth {
  /** `provider/upstream_model`; several models of the catalog may share it. */
  readonly name: string;
  readonly provider: string;
  /** `cooling`: the provider has asked for a pause. `open`: it has failed too often. `half_open`: one may try. */
  readonly state: "closed" | "open" | "half_open" | "cooling";
  /** Until it is asked again, 0 when now. */
  readonly waitMs: number;
  readonly consecutiveFailures: number;
  /** Within the last 30 seconds. */
  readonly recentCalls: number;
  readonly recentFailures: number;
  readonly inFlight: number;
  readonly waiting: number;
  readonly keys: number;
  readonly keysReady: number;
}
