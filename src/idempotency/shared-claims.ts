import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import { type ClaimVerdict, NodeUnavailable, type StoreNode } from "../store/node.ts";
import type { Store } from "../store/store.ts";
import type { Claim, ClaimRequest, ClaimResult, Claims } from "./claims.ts";
import type { ResponseRecorder } from "./recorder.ts";
import { conflict, inFlight } from "./refusals.ts";
import { StoredResponses } from "./stored-responses.ts";

export interface SharedClaimsOptions {
  readonly store: Store;
  readonly node: Pick<StoreNode, "claim" | "endClaim">;
  readonly clock: Clock;
}

/** Claims that several gateways share: the database knows which requests are running, whoever runs them. */
export class SharedClaims implements Claims {
  readonly #options: SharedClaimsOptions;
  readonly #responses: StoredResponses;
  readonly #running = new Set<Claim>();

  constructor(options: SharedClaimsOptions) {
    this.#options = options;
    this.#responses = new StoredResponses(options);
  }

  get running(): number {
    return this.#running.size;
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const notBeforeMs = this.#responses.oldestKeptMs();
    const verdict = await this.#ask(request, notBeforeMs);
    if (verdict === "replay") {
      const response = await this.#options.store.findStoredResponse(request, notBeforeMs);
      if (response !== null) return { kind: "replay", response };
      // A part of it is missing, so that it cannot be replayed: the request runs again, as if none had been stored.
      return this.#run(request, await this.#ask(request, Number.MAX_SAFE_INTEGER));
    }
    return this.#run(request, verdict);
  }

  record(claim: Claim): ResponseRecorder {
    return this.#responses.record(claim);
  }

  end(claim: Claim): Promise<void> | undefined {
    return this.#running.delete(claim) ? this.#options.node.endClaim(claim) : undefined;
  }

  startPruning(onError: (error: unknown) => void, everyMs?: number): void {
    this.#responses.startPruning(onError, everyMs);
  }

  stopPruning(): void {
    this.#responses.stopPruning();
  }

  #run(request: ClaimRequest, verdict: ClaimVerdict): ClaimResult {
    if (verdict === "conflict") throw conflict();
    if (verdict !== "run") throw inFlight();
    const claim = { ...request };
    this.#running.add(claim);
    return { kind: "run", claim };
  }

  async #ask(request: ClaimRequest, notBeforeMs: number): Promise<ClaimVerdict> {
    const { node, clock } = this.#options;
    try {
      return await node.claim({ ...request, atMs: clock.wallMs(), notBeforeMs });
    } catch (error) {
      if (!(error instanceof NodeUnavailable)) throw error;
      throw new GatewayError(
        "service_unavailable",
        "The gateway cannot look up the Idempotency-Key at the moment. Retry shortly.",
        { retryAfterSeconds: 5 },
      );
    }
  }
}
