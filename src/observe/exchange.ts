import type { KeyMode } from "../base/key-attributes.ts";
import type { AttemptRecord } from "../base/requests/attempt.ts";
import type { TraceContext } from "../base/requests/trace-context.ts";
import type { Usage, UsageBasis } from "../base/usage/usage.ts";

/**
 * The facts of one finished client request, from which its log line, metrics and trace are created. They contain no
 * secrets, and nothing of a prompt or a response.
 */
export interface ExchangeFacts {
  readonly requestId: string;
  /** The request id that the client sent, if it was valid. */
  readonly callerRequestId: string | null;
  readonly method: string;
  readonly route: string;
  /** The key's mode; without a key, the mode of the route's origin. */
  readonly mode: KeyMode;
  /** The operation's name in the GenAI conventions, in every dialect; null if it is not traced. */
  readonly tracedAs: string | null;
  readonly atMs: number;
  readonly endedAtMs: number;
  readonly keyId: string | null;
  readonly keyPrefix: string | null;
  /** The client's address, only if it sent no valid key, since nothing else identifies it then. */
  readonly address: string | null;
  readonly model: string | null;
  /** The requested model, if a cap let another one run instead; else null. */
  readonly steppedDownFrom: string | null;
  /** The model has no entry, so its name comes from the client. */
  readonly isUnlistedModel?: true | undefined;
  readonly provider: string | null;
  readonly deployment: string | null;
  readonly stream: boolean;
  readonly status: number;
  /** `completed`, `failed` (5xx, or interrupted), `cancelled`, `replayed`, or `rejected` (4xx). */
  readonly outcome: string;
  readonly errorCode: string | null;
  /** Why an error happened. For operators only, never sent to clients. */
  readonly cause: string | null;
  readonly usage: Usage | null;
  readonly basis: UsageBasis | null;
  /** Nano-credits for credit keys, tokens for token-budget keys. */
  readonly charged: number;
  /** The list cost of a token-budget key's request. Null for credit keys, and without a price. */
  readonly listCostNano: number | null;
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  readonly attempts: number;
  /** The failed attempts before one succeeded. */
  readonly failedAttempts: readonly AttemptRecord[];
  readonly trace: TraceContext | null;
  /** The facts that only spans have; null unless the request gets one. */
  readonly traced: TracedFacts | null;
}

export interface TracedFacts {
  /** The provider's name in the GenAI conventions. */
  readonly genAiProvider: string | null;
  /** Where the provider was called; null if it was not. */
  readonly server: { readonly address: string; readonly port: number } | null;
  readonly upstreamModel: string | null;
  /** The client's own name for the conversation. */
  readonly session: string | null;
  readonly user: string | null;
  /** Null if nothing was charged or counted, or there is no price. */
  readonly costUsd: number | null;
  readonly parameters: RequestParameters;
  /** The provider summarized the conversation before it responded. */
  readonly isCompacted: boolean;
  /** Null if the provider did not report what the tokens are of. */
  readonly byModality: TokensByModality | null;
}

/** What the request sets, by its name in the GenAI conventions. */
export type RequestParameters = Readonly<Record<string, number | string>>;

/** Tokens of a call by what they are of. Cached ones are part of the input. */
export interface TokensByModality {
  readonly input: ModalityTokens;
  readonly cachedInput: ModalityTokens;
  readonly output: ModalityTokens;
}

export interface ModalityTokens {
  readonly text: number;
  readonly audio: number;
  readonly image: number;
}

/** Called for every finished exchange: log, metrics, traces and live tail. */
export type ExchangeObserver = (facts: ExchangeFacts) => void;
