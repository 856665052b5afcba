import { ChurnMap } from "../base/collections/churn-map.ts";
import type { GatewayError } from "../base/errors.ts";
import type { ReserveMemory, ResponseScope } from "../store/store.ts";
import {
  type Claim,
  type ClaimRequest,
  type ClaimResult,
  type Claims,
  conflict,
  inFlight,
} from "./claims.ts";
import { StoredResponses } from "./stored-responses.ts";

interface MemorizedClaim extends Claim {
  /** Resolves once it is known whether there is a stored response. */
  readonly lookup: Promise<void>;
  isRunning: boolean;
}

/** The claims of a single gateway. Running requests are kept in memory only, because a crash ends them. */
export class Idempotency extends StoredResponses implements Claims {
  readonly #claims = new ChurnMap<string, MemorizedClaim>();

  get running(): number {
    return this.#claims.size;
  }

  async claim(request: ClaimRequest, reserve?: ReserveMemory): Promise<ClaimResult> {
    const name = nameOf(request);
    for (let other = this.#claims.get(name); other !== undefined; other = this.#claims.get(name)) {
      if (other.isRunning) throw runningError(other, request);
      await other.lookup;
    }
    const found = Promise.withResolvers<void>();
    const claim = { ...request, lookup: found.promise, isRunning: false };
    this.#claims.set(name, claim);
    try {
      const response = await this.store.findStoredResponse(request, this.oldestStoredMs(), reserve);
      if (response === null) await this.kept.read(request.keyId);
      claim.isRunning = response === null;
      if (response === null) return { kind: "run", claim };
      if (response.bodyHash !== request.bodyHash) throw conflict();
      return this.replay(response);
    } finally {
      if (!claim.isRunning) this.#claims.delete(name);
      found.resolve();
    }
  }

  end(claim: Claim): undefined {
    const name = nameOf(claim);
    if (this.#claims.get(name) === claim) this.#claims.delete(name);
  }
}

/** Route and key id have no line breaks, so no two scopes have the same name. */
function nameOf({ keyId, route, idempotencyKey }: ResponseScope): string {
  return `${keyId}\n${route}\n${idempotencyKey}`;
}

function runningError(running: ClaimRequest, request: ClaimRequest): GatewayError {
  return running.bodyHash === request.bodyHash ? inFlight() : conflict();
}
