import type { Clock } from "../base/clock.ts";
import { ChurnMap } from "../base/collections/churn-map.ts";
import { GatewayError } from "../base/errors.ts";
import { type ClaimVerdict, NodeUnavailable, type StoreNode } from "../store/node.ts";
import type { ReserveMemory, Store } from "../store/store.ts";
import {
  type Claim,
  type ClaimRequest,
  type ClaimResult,
  type Claims,
  conflict,
  inFlight,
} from "./claims.ts";
import { StoredResponses } from "./stored-responses.ts";

export interface SharedClaimsOptions {
  readonly store: Store;
  readonly node: Pick<StoreNode, "claim" | "endClaim">;
  readonly clock: Clock;
}

/** Claims that several gateways share. The database knows which requests are running, on whichever gateway. */
export class SharedClaims extends StoredResponses implements Claims {
  readonly #node: SharedClaimsOptions["node"];
  readonly #running = new ChurnMap<Claim, true>();

  constructor({ store, node, clock }: SharedClaimsOptions) {
    super({ store, clock });
    this.#node = node;
  }

  get running(): number {
    return this.#running.size;
  }

  async claim(request: ClaimRequest, reserve?: ReserveMemory): Promise<ClaimResult> {
    const notBeforeMs = this.oldestStoredMs();
    const [verdict] = await Promise.all([
      this.#requestClaim(request, notBeforeMs),
      // If this fails, only the bytes of this node count.
      this.kept.read(request.keyId).catch(() => {}),
    ]);
    if (verdict === "replay") {
      const response = await this.store.findStoredResponse(request, notBeforeMs, reserve);
      if (response !== null) return this.replay(response);
      // A part is missing, so it cannot be replayed. Run the request as if nothing had been stored.
      return this.#run(request, await this.#requestClaim(request, Number.MAX_SAFE_INTEGER));
    }
    return this.#run(request, verdict);
  }

  end(claim: Claim): Promise<void> | undefined {
    return this.#running.delete(claim) ? this.#node.endClaim(claim) : undefined;
  }

  #run(request: ClaimRequest, verdict: ClaimVerdict): ClaimResult {
    if (verdict === "conflict") throw conflict();
    if (verdict !== "run") throw inFlight();
    const claim = { ...request };
    this.#running.set(claim, true);
    return { kind: "run", claim };
  }

  async #requestClaim(request: ClaimRequest, notBeforeMs: number): Promise<ClaimVerdict> {
    try {
      return await this.#node.claim({ ...request, atMs: this.clock.wallMs(), notBeforeMs });
    } catch (error) {
      if (!(error instanceof NodeUnavailable)) throw error;
      throw new GatewayError(
        "service_unavailable",
        "The gateway cannot check right now whether this request is already running. Retry in a few seconds.",
        { retryAfterSeconds: 5 },
      );
    }
  }
}
