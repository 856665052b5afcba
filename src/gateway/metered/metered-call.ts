import { assert } from "../../base/assert.ts";
import type { JsonObject } from "../../base/json.ts";
import { traceHeaders } from "../../base/requests/trace-context.ts";
import { priceAt } from "../../catalog/price.ts";
import { type BodyChanges, patchBody, patchMembers } from "../../dialects/json/patch.ts";
import type { MeteredRouteName } from "../../dialects/metered/registry.ts";
import { type MeteredRoute, meteredDialect, type RequestedForm } from "../../dialects/metered/route.ts";
import { type ClientDialectName, clientDialect } from "../../dialects/registry.ts";
import type { Deployment, GenerationPlan } from "../../upstream/upstream.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import { type ChosenFormat, formatFor } from "../../vendors/registry.ts";
import { askingForUsage, withoutUsageOption } from "../attempt/passing.ts";
import { ProviderCall } from "../attempt/provider-call.ts";
import { paceRequest } from "../body-worker/request-pacer.ts";
import type { CostMeter } from "../charge/cost-meter.ts";
import type { WantedHold } from "../charge/hold.ts";
import type { ClientRequest } from "../request/client-request.ts";
import type { RoutedCall } from "../request/route.ts";
import { countedNames } from "./destination.ts";
import type { SpooledForm } from "./form/spooled-form.ts";
import { countAtMost, type MeteredPricing } from "./pricing.ts";

export interface MeteredCallParts {
  readonly call: RoutedCall;
  readonly route: MeteredRoute;
  readonly request: ClientRequest;
  /** The request's form; null if it is JSON. */
  readonly form: SpooledForm | null;
}

/** One call to a provider for a metered request: for all of it, or a part. */
export class MeteredCall extends ProviderCall implements GenerationPlan {
  readonly conversation = null;
  /** Whose form its errors have. */
  readonly clientDialect: ClientDialectName;
  readonly stream: boolean;
  readonly takesAnyType: boolean;
  readonly streamsAnyType: boolean;
  /** The format of the last attempt. */
  chosen: ChosenFormat | null = null;
  readonly dropped = new Set<string>();
  /** The last attempt requested usage that the client did not request. */
  hidesUsage = false;
  readonly #parts: HeldMeteredCall;
  /** The body of this part; null if it is the whole request. */
  readonly #part: JsonObject | null;
  /** All parts of one response come from this deployment. */
  readonly pinned: Deployment | null;

  constructor(parts: HeldMeteredCall, part: JsonObject | null, pinned: Deployment | null) {
    super(parts.call, parts.meter, parts.wanted);
    this.clientDialect = parts.route.inPath?.dialect ?? meteredDialect;
    this.#parts = parts;
    this.#part = part;
    this.pinned = pinned;
    const { stream, taken } = parts.call.exchange;
    this.stream = stream;
    this.takesAnyType = parts.route.returnsAnyType === true;
    // An answer that is kept for a retry is charged and stored at once, whether or not the client waits for it.
    this.streamsAnyType = parts.route.relaysBytes === true && !stream && taken.claim === null;
  }

  dropSignatures(): boolean {
    return false;
  }

  async prepare(deployment: Deployment): Promise<PreparedRequest> {
    const { form, request } = this.#parts;
    await paceRequest(request.bytes);
    const prepared = this.#prepared(deployment);
    if (form === null) return prepared;
    return { ...prepared, body: "", file: await form.bodyFor(deployment.upstreamModel) };
  }

  #prepared(deployment: Deployment): PreparedRequest {
    const { exchange } = this;
    const { route } = this.#parts;
    const chosen = formatFor(route, deployment, deployment.provider.settings);
    assert(chosen !== null, "only deployments that have the route are asked");
    this.chosen = chosen;
    const { format, target } = chosen;
    return {
      dialect: format.dialect,
      purpose: "metered",
      method: format.method(target),
      model: deployment.upstreamModel,
      stream: this.stream,
      body: this.#bodyFor(chosen, deployment),
      headers: clientDialect(this.clientDialect).forwardHeaders(exchange.call.request.headers),
      trace: exchange.trace === null ? null : traceHeaders(exchange.trace),
    };
  }

  #bodyFor({ format, target }: ChosenFormat, deployment: Deployment): Uint8Array | string {
    const { request } = this.#parts;
    if (format.write !== undefined) {
      return JSON.stringify(format.write(this.#part ?? request.body, target, this.dropped));
    }
    const others = format.changes?.(this.#part ?? request.truncated, target, this.dropped);
    const changes = { ...request.nullRemovals, model: target.model, ...this.#usageOption(deployment) };
    if (this.#part !== null) return JSON.stringify({ ...this.#part, ...changes, ...others });
    const body = patchBody(request.bytes, request.spans, changes);
    return others === undefined ? body : patchMembers(body, others);
  }

  /** The change that makes a stream report its usage, which is hidden from a client that did not request it. */
  #usageOption(deployment: Deployment): BodyChanges | null {
    const { route } = this.#parts;
    if (route.streams?.takesUsageOption !== true) return null;
    const asking = askingForUsage(this.#parts, deployment, meteredDialect);
    this.hidesUsage = asking !== null;
    return asking ?? withoutUsageOption(this.#parts, deployment);
  }
}

/** A metered request, ready to be sent. */
export interface MeteredPlan extends MeteredCallParts, MeteredPricing {
  readonly wanted: WantedHold;
  readonly name: MeteredRouteName;
  /** The form and usage that a deployment's response depends on. */
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
    askedAt: ({ price }) => {
      const priced = [...countedNames(route, priceAt(price, call.pricedAtMs))];
      return { model: model.id, body: request.truncated, files, held, priced };
    },
    isInTokensAt: ({ price }) =>
      demandAt(request, countedNames(route, priceAt(price, call.pricedAtMs))).isInTokens,
  };
}
