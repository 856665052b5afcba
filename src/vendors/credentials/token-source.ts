import type { Clock } from "../../base/clock.ts";
import { abortAfter } from "../../base/loop/deadline.ts";
import { CredentialUnavailable } from "./credential.ts";

/** Something with a limited life that was just issued: a token, or a set of temporary keys. */
export interface IssuedToken<Token extends object> {
  readonly token: Token;
  readonly lifeMs: number;
}

/** Requests a new token. Rejects with a `CredentialUnavailable`. */
export type Issue<Token extends object> = (signal: AbortSignal) => Promise<IssuedToken<Token>>;

export interface TokenSourceOptions {
  readonly clock: Clock;
  /** A background refresh failed. Requests keep using the old token until it expires. */
  onRefreshFailed(error: CredentialUnavailable): void;
}

/** A new token is requested after this share of its lifetime. */
const refreshShare = 0.8;
/** A token this close to its end may be rejected by the time it arrives. */
const marginShare = 0.02;
/** The longest that a host may take to issue one. */
const issueTimeoutMs = 15_000;
/** Backoff after a failure; doubles with every further one. */
const firstPauseMs = 1000;
const maxPauseMs = 30_000;
/** `setTimeout` fires at once for longer waits. */
const maxTimerMs = 2 ** 31 - 1;

interface HeldToken<Token> {
  readonly token: Token;
  readonly expiresAtMs: number;
  /** It was issued because the previous one was rejected, and has not been accepted yet. */
  isUnproven: boolean;
}

/**
 * Keeps one token fresh. The first one is requested when it is needed; any number of requests wait for the same response.
 * From then on it is refreshed in the background, ahead of its end, so that no request waits again.
 */
export class TokenSource<Token extends object> {
  readonly #issue: Issue<Token>;
  readonly #options: TokenSourceOptions;
  #held: HeldToken<Token> | null = null;
  #issuing: Promise<Token> | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #failure: { readonly error: CredentialUnavailable; readonly untilMs: number } | null = null;
  #pauseMs = firstPauseMs;
  #isStopped = false;

  constructor(issue: Issue<Token>, options: TokenSourceOptions) {
    this.#issue = issue;
    this.#options = options;
  }

  /** The current token; null if there is none, or it has expired. */
  current(): Token | null {
    if (this.#held === null || this.#nowMs() >= this.#held.expiresAtMs) return null;
    return this.#held.token;
  }

  /** The current token, or a new one. Rejects with a `CredentialUnavailable`. */
  async get(): Promise<Token> {
    return this.current() ?? this.#refresh(false);
  }

  accepted(token: Token): void {
    if (this.#held?.token === token) this.#held.isUnproven = false;
  }

  /**
   * The provider rejected a token. It is dropped, unless it has been replaced already. Returns false if it was itself the
   * replacement of a rejected one: another would not help.
   */
  expired(token: Token): boolean {
    if (this.#held?.token !== token) return true;
    if (this.#held.isUnproven) return false;
    this.#held = null;
    this.#refresh(true).catch(() => {});
    return true;
  }

  /** Ends the refreshing in the background. */
  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** One at a time. */
  #refresh(isReplacement: boolean): Promise<Token> {
    if (this.#issuing !== null) return this.#issuing;
    if (this.#failure !== null && this.#nowMs() < this.#failure.untilMs) {
      return Promise.reject(this.#failure.error);
    }
    this.#issuing = this.#ask(isReplacement).finally(() => {
      this.#issuing = null;
    });
    return this.#issuing;
  }

  async #ask(isReplacement: boolean): Promise<Token> {
    try {
      const { token, lifeMs } = await this.#issue(abortAfter(issueTimeoutMs));
      const expiresAtMs = this.#nowMs() + lifeMs * (1 - marginShare);
      this.#held = { token, expiresAtMs, isUnproven: isReplacement };
      this.#failure = null;
      this.#pauseMs = firstPauseMs;
      this.#refreshIn(lifeMs * refreshShare);
      return token;
    } catch (cause) {
      const error =
        cause instanceof CredentialUnavailable
          ? cause
          : new CredentialUnavailable("no token is available", { cause });
      this.#failure = { error, untilMs: this.#nowMs() + this.#pauseMs };
      this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs);
      throw error;
    }
  }

  #refreshIn(delayMs: number): void {
    if (this.#isStopped) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refreshAhead(), Math.min(delayMs, maxTimerMs));
    this.#timer.unref();
  }

  /** Repeated until the old token expires. After that, the next request gets a new one. */
  #refreshAhead(): void {
    this.#refresh(false).catch((error: CredentialUnavailable) => {
      this.#options.onRefreshFailed(error);
      if (this.current() !== null) this.#refreshIn(this.#pauseMs);
    });
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}
