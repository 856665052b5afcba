import { traceContextOf } from "../base/requests/trace-context.ts";
import type { ModelSettings } from "../config/settings.ts";
import type { ClientDialectName } from "../dialects/registry.ts";
import { admit } from "./admission/admit.ts";
import { charged } from "./charge/charged.ts";
import type { CostMeter } from "./charge/cost-meter.ts";
import type { WantedHold } from "./charge/hold.ts";
import { narrowContent } from "./content.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { rejectMisread } from "./request/foreign-fields.ts";
import { claimIdempotency, replay } from "./request/idempotent.ts";
import { labelExchange } from "./request/labels.ts";
import { continuationOf } from "./request/provider-id-owners.ts";
import { type ClientRequest, idempotencyKeyOf, rejectForbidden } from "./request/request.ts";
import { type AdmittedCall, type ReadRequest, RoutedCall } from "./stages.ts";
import { requestParameters } from "./traced-facts.ts";

/** The steps of a request for a model that differ by operation. `serve` and `serveFree` walk them in their order. */
interface ModelSteps {
  readonly dialect: ClientDialectName;
  /** Metered requests pass in formats of their own, whatever dialects their provider has. */
  readonly isMetered?: true;
  /** Reads and validates the body. */
  read(call: AdmittedCall): ReadRequest | Promise<ReadRequest>;
}

/** The steps of a request that is charged. */
export interface ChargedSteps<Terms, Priced, Plan extends HoldPlan> extends ModelSteps {
  /** Whether the client wants a stream. */
  streams(request: ClientRequest): boolean;
  /** Throws if the model does not exist or does not serve the operation. */
  findModel(call: AdmittedCall, request: ClientRequest): ModelSettings;
  /** Throws if the model cannot do what the request asks for; returns what that means for its price. */
  check(call: AdmittedCall, read: ReadRequest, model: ModelSettings): Terms;
  /** Throws if something in the request has no price. */
  price(call: RoutedCall, terms: Terms): Priced | Promise<Priced>;
  /** Takes what only a request needs that will run, and prepares what is sent. */
  plan(call: RoutedCall, priced: Priced): Plan | Promise<Plan>;
  /** Asks a provider, and answers the client. Settles the meter, or leaves that to the pump of a stream. */
  ask(plan: Plan, meter: CostMeter): Promise<Response>;
}

/** What is ready to be sent, and what to hold for it. */
export interface HoldPlan {
  readonly wanted: WantedHold;
  /** It took its concurrency slot before, to be read. */
  readonly hasSlot: boolean;
}

/** The steps of a request that costs nothing. */
export interface FreeSteps extends ModelSteps {
  /** Null if the request names no model, and needs none. */
  findModel(call: AdmittedCall, request: ClientRequest): ModelSettings | null;
  answer(call: AdmittedCall, request: ClientRequest, routed: RoutedCall | null): Promise<Response>;
}

/**
 * A request that is charged, from admission to its end. Every step may reject it by throwing a GatewayError, and then no later
 * step has had an effect. What is acquired on the way (a claim, a slot, a hold, the provider's response) is recorded in the
 * exchange, and released in one place when that ends (end-exchange.ts). `turn` resolves when it may begin; null if at once.
 */
export async function serve<Terms, Priced, Plan extends HoldPlan>(
  gateway: Gateway,
  exchange: Exchange,
  steps: ChargedSteps<Terms, Priced, Plan>,
  turn: Promise<void> | null = null,
): Promise<Response> {
  if (turn !== null) await turn;
  const { call } = exchange;
  exchange.trace = traceContextOf(call.request.headers, exchange.configured.settings.tracing !== null);
  const admitting = admit(gateway, exchange);
  const admitted = admitting instanceof Promise ? await admitting : admitting;
  const reading = steps.read(admitted);
  const read = reading instanceof Promise ? await reading : reading;
  const { request } = read;
  // Only now: the server should cut off a client that is slow to send its body, but not one that waits for a provider.
  call.keepWaiting();
  exchange.stream = steps.streams(request);
  if (exchange.trace !== null && exchange.trace.spanId !== null)
    exchange.parameters = requestParameters(request.truncated);
  const idempotencyKey = idempotencyKeyOf(call);
  const session = labelExchange(admitted, steps.dialect, request.truncated);

  const model = permitted(admitted, steps.findModel(admitted, request));
  const terms = steps.check(admitted, read, model);
  if (read.replay !== null) return replay(exchange, read.replay);
  // What is seldom a promise is not awaited unless it is one, here and below: each await takes 0.3 µs.
  const routing = route(admitted, read, model, steps, session);
  const routed = routing instanceof Promise ? await routing : routing;
  const pricing = steps.price(routed, terms);
  const priced = pricing instanceof Promise ? await pricing : pricing;

  const claiming = claimIdempotency(admitted, idempotencyKey, request);
  const claimed = claiming instanceof Promise ? await claiming : claiming;
  if (claimed.kind === "replay") return replay(exchange, claimed);
  exchange.claim = claimed.claim;
  const planning = steps.plan(routed, priced);
  const plan = planning instanceof Promise ? await planning : planning;
  if (!plan.hasSlot && !gateway.ongoing.tryEnter(exchange, admitted.keyId)) {
    await gateway.ongoing.enter(exchange, admitted.keyId);
  }
  // Awaited, because a form is needed until the provider has it.
  return await charged(gateway, exchange, plan.wanted, (meter) => steps.ask(plan, meter));
}

/** A request that costs nothing: the same steps without a claim, a slot and a hold. */
export async function serveFree(gateway: Gateway, exchange: Exchange, steps: FreeSteps): Promise<Response> {
  const admitted = await admit(gateway, exchange);
  const read = await steps.read(admitted);
  const { request } = read;
  const found = steps.findModel(admitted, request);
  if (found === null) return steps.answer(admitted, request, null);
  const model = permitted(admitted, found);
  return steps.answer(admitted, request, await route(admitted, read, model, steps, null));
}

/** Notes the model in the exchange. Throws if the key cannot use it. */
export function permitted({ exchange, key }: AdmittedCall, model: ModelSettings): ModelSettings {
  exchange.model = model;
  narrowContent(exchange, model);
  rejectForbidden(exchange.configured, key, model);
  return model;
}

/** Finds where the request may go. Only one that names stored resources has to wait for that. */
function route(
  call: AdmittedCall,
  read: ReadRequest,
  model: ModelSettings,
  { dialect, isMetered }: ModelSteps,
  session: string | null,
): RoutedCall | Promise<RoutedCall> {
  const { configured, key } = call;
  const { mentions } = read.request;
  const continuing = { configured, key, model, dialect, isMetered, mentions };
  if (mentions.misread !== null) rejectMisread(continuing, mentions.misread);
  const found = continuationOf(call.gateway.idOwners, continuing);
  if (!(found instanceof Promise)) return new RoutedCall(call, read, model, dialect, session, found);
  return found.then((continuation) => new RoutedCall(call, read, model, dialect, session, continuation));
}
