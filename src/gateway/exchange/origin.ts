import type { Clock } from "../../base/clock.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { ErrorFormat } from "../../dialects/errors/envelope.ts";
import type { Claim, Claims } from "../../idempotency/claims.ts";
import type { ResponseRecorder } from "../../idempotency/recorder.ts";
import type { Hold } from "../../ledger/accounts.ts";
import type { StoredResponse } from "../../store/store.ts";
import type { Deployment, GenerationPlan, OpenedCall } from "../../upstream/upstream.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { RememberedTurns } from "../turns/turn-body.ts";

/** An earlier run of the request, in which it was admitted and its cost set aside. */
export interface EarlierRun {
  /** Null if it has ended: the request was charged, or is not. */
  readonly hold: Hold | null;
  /** The configuration by which it was held, and is charged. */
  readonly configured: ActiveConfig;
}

/** A request whose cost is set aside, for an origin that has it run elsewhere. */
export interface HeldRequest {
  readonly model: ModelSettings;
  readonly configured: ActiveConfig;
  /** The moment that decides its prices. */
  readonly pricedAtMs: number;
  /** The provider that must serve it, or the key's own scope. */
  readonly scope: string;
  /** The id of the only credential that may be used; null if any may. */
  readonly credential: string | null;
  /** Whether it runs on the requested model alone, and nothing that its response depends on can change until it runs. */
  readonly isSelfContained: boolean;
  readonly hold: Hold;
  /** What the tightest limit still allows. */
  readonly remaining: number;
  prepare(deployment: Deployment): Promise<PreparedRequest>;
}

/** A request whose response is stored together with its charge. */
export interface RecordedRequest {
  readonly id: string;
  readonly configured: ActiveConfig;
  readonly call: { readonly route: { readonly errors: ErrorFormat } };
  readonly taken: { readonly claim: Claim | null; recorder: ResponseRecorder | null };
}

/** Where a request comes from, as far as that decides how it is served. The base class is a client that waits on its connection. */
export class Origin {
  /** Whether the limits on concurrent requests count it. */
  readonly isInteractive: boolean = true;
  /** Whether it may be charged by the service tiers of batches. */
  readonly isDeferred: boolean = false;
  readonly earlier: EarlierRun | null = null;
  /** Labels that it adds to the client's; null for none. */
  readonly labels: Readonly<Record<string, string>> | null = null;
  /** Where its idempotency key is unique; null for its route. */
  readonly claimPlace: string | null = null;
  /** The conversations that its connection remembers; null if it remembers none. */
  readonly remembered: RememberedTurns | null = null;

  /** Throws if it cannot get its response in this form. */
  rejectForm(_form: "stream" | "background"): void {}

  /** Throws if it cannot run on this model. */
  rejectModel(_model: ModelSettings): void {}

  /** True if it runs elsewhere from now on: its hold is the origin's then. */
  async takeOver(_held: HeldRequest): Promise<boolean> {
    return false;
  }

  /** The response of a provider. */
  open(asking: GenerationPlan, { upstream }: ActiveConfig, _clock: Clock): Promise<OpenedCall> {
    return upstream.open(asking);
  }

  /** What the charge stores of the response in place of the usual recording; null for the usual one. */
  record(
    _claims: Claims,
    _request: RecordedRequest,
    _claim: Claim,
    _body: Uint8Array,
  ): Promise<StoredResponse> | null {
    return null;
  }

  /** What the charge of an error stores. By default nothing: a retry runs again. */
  async recordError(
    _claims: Claims,
    _request: RecordedRequest,
    _error: GatewayError,
  ): Promise<StoredResponse | null> {
    return null;
  }
}

/** A client on a connection of its own. */
export const clientOrigin = new Origin();
