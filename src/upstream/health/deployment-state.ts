import type { Gate } from "../../limits/concurrency.ts";
import type { Credential } from "../../vendors/credentials/credential.ts";
import type { Provider } from "../../vendors/provider.ts";
import type { Deployment } from "../upstream.ts";
import type { Breaker } from "./breaker.ts";
import type { KeyPool } from "./key-health.ts";
import type { CallHistory } from "./recent-calls.ts";

/** Shared by all deployments at one provider. */
export interface ProviderState {
  readonly provider: Provider;
  readonly keys: KeyPool<Credential>;
  /** Null if the provider's concurrency is not limited. */
  readonly gate: Gate | null;
}

/** Shared by all models of the catalog that use the same upstream model of the same provider. */
export interface DeploymentState {
  /** Provider and upstream model. */
  readonly id: string;
  /** The id for display, without the operator's account number. */
  readonly name: string;
  readonly providerState: ProviderState;
  readonly breaker: Breaker;
  /** The gates of the limited deployments that share this state. */
  readonly gates: Gate[];
  inFlight: number;
  readonly history: CallHistory;
  /** Requests that wait for the end of a cool-down. */
  waitingForCoolDown: number;
}

/** A deployment that a request may be sent to. */
export interface Candidate {
  readonly deployment: Deployment;
  readonly state: DeploymentState;
  /** The deployment's own, although its state may be shared. Null if its concurrency is not limited. */
  readonly gate: Gate | null;
}
