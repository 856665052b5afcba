import { type Clock, msPerDay } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import type { ResponseScope, Store } from "../store/store.ts";
import type { Claim, ClaimRequest, ClaimResult } from "./claim.ts";
import { ResponseRecorder } from "./recorder.ts";

export type { Claim, ClaimRequest, ClaimResult } from "./claim.ts";

const keptForMs = msPerDay;
const pruneEveryMs = 10 * 60_000;
const prunedAtOnce = 200;

/**
 * Keeps a request from being run twice. Running requests are known in memory only, because a crash ends them. A
 * successful response is stored in the transaction that charges for it, so after a crash both exist or neither.
 */
export class Idempotency {
  readonly #store: Store;
  readonly #clock: Clock;
  /** Both clocks at the start, to tell how far the wall clock should have moved since. */
  readonly #startWallMs: number;
  readonly #startMonotonicMs: number;
  readonly #claims = new Map<string, Mutable<Claim>>();
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#startWallMs = clock.wallMs();
    this.#startMonotonicMs = clock.monotonicMs();
  }

  get running(): number {
    return this.#claims.size;
  }

  /** Throws `idempotency_in_flight` or `idempotency_conflict`. */
  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const name = nameOf(request);
    for (let other = this.#claims.get(name); other !== undefined; other = this.#claims.get(name)) {
      if (other.isRunning) throw refusal(other, request);
      await other.lookup;
    }
    const found = Promise.withResolvers<void>();
    const claim = { ...request, lookup: found.promise, isRunning: false };
    this.#claims.set(name, claim);
    try {
      const response = await this.#store.findStoredResponse(request, this.#oldestKeptMs());
      claim.isRunning = response === null;
      if (response === null) return { kind: "run", claim };
      if (response.bodyHash !== request.bodyHash) throw conflict();
      return { kind: "replay", response };
    } finally {
      if (!claim.isRunning) this.#claims.delete(name);
      found.resolve();
    }
  }

  /** Records the response of a claim while it is relayed. */
  record(claim: Claim): ResponseRecorder {
    return new ResponseRecorder(this.#store, claim, () => this.#storingMs());
  }

  /**
   * The request is over: a retry replays its response if it was stored, and runs again otherwise. Ending a claim twice
   * must not end a later claim of the same name.
   */
  end(claim: Claim): void {
    const name = nameOf(claim);
    if (this.#claims.get(name) === claim) this.#claims.delete(name);
  }

  startPruning(onError: (error: unknown) => void, everyMs = pruneEveryMs): void {
    this.#timer ??= setInterval(() => this.prune().catch(onError), everyMs);
    this.#timer.unref();
  }

  stopPruning(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Deletes responses older than a day, a few per transaction. Returns how many. */
  async prune(): Promise<number> {
    for (let pruned = 0; ; ) {
      const gone = await this.#store.pruneStoredResponses(this.#oldestKeptMs(), prunedAtOnce);
      pruned += gone;
      if (gone < prunedAtOnce) return pruned;
    }
  }

  /**
   * A jump of the clock must not expire a response and have its retry charged again; keeping one for longer does no
   * harm. So responses are dated by the later of the wall clock and the time that really passed, and expire by the
   * earlier.
   */
  #oldestKeptMs(): number {
    return Math.floor(Math.min(this.#clock.wallMs(), this.#passedWallMs())) - keptForMs;
  }

  #storingMs(): number {
    return Math.floor(Math.max(this.#clock.wallMs(), this.#passedWallMs()));
  }

  #passedWallMs(): number {
    return this.#startWallMs + this.#clock.monotonicMs() - this.#startMonotonicMs;
  }
}

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** Route and key id have no line breaks, so no two scopes have the same name. */
function nameOf({ keyId, route, idempotencyKey }: ResponseScope): string {
  return `${keyId}\n${route}\n${idempotencyKey}`;
}

function refusal(running: ClaimRequest, request: ClaimRequest): GatewayError {
  if (running.bodyHash !== request.bodyHash) return conflict();
  return new GatewayError(
    "idempotency_in_flight",
    "A request with this Idempotency-Key is still running. Retry when it has ended.",
  );
}

function conflict(): GatewayError {
  return new GatewayError(
    "idempotency_conflict",
    "This Idempotency-Key was used with another request body. Use a new one for a new request.",
  );
}
