import type { InputEstimate } from "../../catalog/estimate.ts";
import type { MeteredRouteName } from "../../dialects/metered/registry.ts";
import type { AskedForm, MeteredDemand, RouteBody } from "../../dialects/metered/route.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import type { Bill } from "../charge/bill.ts";
import type { Gateway } from "../gateway.ts";
import type { MeteredCallParts } from "./metered-call.ts";

/** A metered request with a hold, ready to be sent. */
export interface MeteredAsking extends MeteredCallParts {
  readonly gateway: Gateway;
  readonly key: KeyRecord;
  readonly bill: Bill;
  readonly name: MeteredRouteName;
  /** The most inputs that all deployments take in one call. */
  readonly mostInputs: number;
  /** Whichever deployment answers. */
  readonly demand: MeteredDemand;
  /** Input tokens of an ordinary text of this size; the demand has the most that there can be. */
  readonly usualInput: number;
  /** The same of a part of the request. */
  demandOf(part: RouteBody): MeteredDemand;
  readonly estimatedInput: InputEstimate;
  /** What the form and the figures of a deployment's answer depend on. */
  askedAt(deployment: Deployment): AskedForm;
  /** Whether a deployment is charged by what is counted in tokens. */
  isInTokensAt(deployment: Deployment): boolean;
}
