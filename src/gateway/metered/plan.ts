import type { MeteredRouteName } from "../../dialects/metered/registry.ts";
import type { RequestedForm } from "../../dialects/metered/route.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import type { CostMeter } from "../charge/cost-meter.ts";
import type { WantedHold } from "../charge/hold.ts";
import type { HoldPlan } from "../lifecycle.ts";
import type { RoutedCall } from "../stages.ts";
import { countAtMost } from "./count-input.ts";
import { countedNames } from "./destination.ts";
import type { SpooledForm } from "./form/spooled-form.ts";
import type { MeteredCallParts } from "./metered-call.ts";
import type { MeteredPricing } from "./pricing.ts";

/** A metered request, ready to be sent. */
export interface MeteredPlan extends HoldPlan, MeteredCallParts, MeteredPricing {
  readonly name: MeteredRouteName;
  /** What the form and the figures of a deployment's answer depend on. */
  askedAt(deployment: Deployment): RequestedForm;
  /** Whether a deployment is charged by what is counted in tokens. */
  isInTokensAt(deployment: Deployment): boolean;
}

/** A metered request with its hold. */
export interface HeldMeteredCall extends MeteredPlan {
  readonly meter: CostMeter;
}

export function meteredPlan(
  call: RoutedCall,
  name: MeteredRouteName,
  route: MeteredCallParts["route"],
  form: SpooledForm | null,
  pricing: MeteredPricing,
): MeteredPlan {
  const { key, model, requestedModel } = call;
  const { request, files, demand, usualInput, extras, demandAt } = pricing;
  // What is charged by its hold, where the provider reports nothing, is charged as ordinary text.
  const held = { input: usualInput, output: demand.output };
  const wanted: WantedHold = {
    key,
    model,
    requestedModel,
    extras,
    atMost: { input: demand.input, output: demand.output },
    usual: held,
    storedInput: 0,
    requestBytes: request.bytes,
    canBeCounted: demand.canBeCounted,
    countInput: () => countAtMost({ call, route, request, demand }),
  };
  return {
    ...pricing,
    call,
    name,
    route,
    form,
    wanted,
    hasSlot: form !== null,
    askedAt: ({ price }) => {
      const priced = [...countedNames(route, price)];
      return { model: model.id, body: request.truncated, files, held, priced };
    },
    isInTokensAt: ({ price }) => demandAt(request, countedNames(route, price)).isInTokens,
  };
}
