import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { isCharged, type MeteredRouteName, meteredRoute } from "../../dialects/metered/registry.ts";
import type { FormFields, MeteredRoute } from "../../dialects/metered/route.ts";
import { pathOf } from "../../dialects/names/name-path.ts";
import type { CostMeter } from "../charge/cost-meter.ts";
import { beginContent } from "../content.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { type ChargedSteps, serve } from "../lifecycle.ts";
import { readRequest, rewritten } from "../request/read-request.ts";
import { type ClientRequest, findModel, idempotencyKeyOf, rejectUnpriced } from "../request/request.ts";
import { type AdmittedCall, noTurn, type ReadRequest, type RoutedCall } from "../stages.ts";
import { answerMetered } from "./answer.ts";
import { boundaryOf } from "./form/form-parser.ts";
import { bodyOfForm, readForm } from "./form/read-form.ts";
import type { SpooledForm } from "./form/spooled-form.ts";
import { type MeteredPlan, meteredPlan } from "./metered-call.ts";
import { type MeteredPricing, priceMetered } from "./pricing.ts";
import { streamMetered } from "./stream.ts";

/** Serves a request of a metered route. */
export async function serveMetered(
  gateway: Gateway,
  exchange: Exchange,
  name: MeteredRouteName,
): Promise<Response> {
  await using steps = new MeteredSteps(name);
  return await serve(gateway, exchange, steps);
}

const noFields: FormFields = { numbers: [], texts: [] };

/** The steps of one metered request. Its form, if it is one, is disposed of with them. */
class MeteredSteps implements ChargedSteps<void, MeteredPricing, MeteredPlan>, AsyncDisposable {
  /** Errors, and the fields that cost extra, are OpenAI's. */
  readonly dialect = "chat";
  readonly isMetered = true;
  readonly #name: MeteredRouteName;
  readonly #route: MeteredRoute;
  #form: SpooledForm | null = null;

  constructor(name: MeteredRouteName) {
    this.#name = name;
    this.#route = meteredRoute(name);
  }

  /**
   * Where the answer is always whole, a client that disconnects does not end it: the provider bills it anyway, and the client's
   * retry finds it under its idempotency key.
   */
  async read(call: AdmittedCall): Promise<ReadRequest> {
    const { exchange } = call;
    const route = this.#route;
    const form = await takeForm(call, route);
    this.#form = form;
    const read = form === null ? await readRequest(call, this.#name) : this.#readForm(exchange, form);
    exchange.outlivesClient = route.streams === undefined || route.outlivesClient === true;
    return read;
  }

  #readForm(exchange: Exchange, form: SpooledForm): ReadRequest {
    const body = bodyOfForm(form, this.#route.takesForms ?? noFields);
    return { request: rewritten(exchange, body, this.#name).sentAs(form), turn: noTurn, replay: null };
  }

  streams({ truncated, stream }: ClientRequest): boolean {
    const { streams, isStreamed } = this.#route;
    return streams !== undefined && (isStreamed?.(truncated) ?? stream);
  }

  /** Routes that need no name are served by the first model of the key that serves them. */
  findModel({ configured, key }: AdmittedCall, { modelId }: ClientRequest): ModelSettings {
    const { use, modelIsOptional } = this.#route;
    if (modelId != null || modelIsOptional !== true) return findModel(configured, key, modelId ?? "", use);
    const model = configured.catalog.modelsFor(key).find(({ serves }) => serves.includes(use));
    if (model === undefined) throw noModelServes(use);
    return model;
  }

  check({ key }: AdmittedCall, { request }: ReadRequest, model: ModelSettings): void {
    if (isCharged(this.#route)) rejectUnpriced(key, model);
    rejectHostedTools(request);
  }

  price(call: RoutedCall): Promise<MeteredPricing> {
    return priceMetered(call, this.#name, this.#form?.files ?? null);
  }

  plan(call: RoutedCall, pricing: MeteredPricing): MeteredPlan {
    return meteredPlan(call, this.#name, this.#route, this.#form, pricing);
  }

  ask(plan: MeteredPlan, meter: CostMeter): Promise<Response> {
    const isStreamed = plan.call.exchange.stream || this.#route.relaysBytes === true;
    return isStreamed ? streamMetered({ meter, ...plan }) : answerMetered({ meter, ...plan });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#form?.[Symbol.asyncDispose]();
  }
}

/** No metered answer reports their calls. */
function rejectHostedTools({ tools: { hosted } }: ClientRequest): void {
  const [first] = hosted;
  if (first === undefined) return;
  throw invalidRequest(
    "Tools that the provider runs are for generation only; leave them out.",
    pathOf(first.path),
  );
}

/** A form takes a concurrency slot before any disk space, and only if the key could pay for it. Null if the body is not a form. */
async function takeForm(call: AdmittedCall, { takesForms, use }: MeteredRoute): Promise<SpooledForm | null> {
  const { gateway, exchange, keyId } = call;
  const { headers } = exchange.call.request;
  const boundary = takesForms === undefined ? null : boundaryOf(headers.get("content-type"));
  if (boundary === null) return null;
  await rejectSpent(call, use);
  await gateway.ongoing.enter(exchange, keyId);
  exchange.formSlot = gateway.formSlots.reserve(keyId);
  if (!exchange.formSlot.grow(1)) throw tooManyForms();
  const form = await readForm(exchange, boundary, gateway.forms.reserve(keyId));
  if (gateway.content !== null) beginContent(call, JSON.stringify(form.described()));
  return form;
}

function tooManyForms(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "This key has as many forms in flight as the gateway allows. Retry when one of them is answered.",
  );
}

/** The form names its model, perhaps at its end, so its price is not known yet. A retry may be answered for free. */
async function rejectSpent(
  { gateway, exchange, configured, key }: AdmittedCall,
  use: ModelUse,
): Promise<void> {
  const { accounts } = gateway;
  const isFree = configured.catalog.modelsFor(key).some(({ serves, free }) => free && serves.includes(use));
  if (isFree || idempotencyKeyOf(exchange.call) !== null) return;
  const labels = { requestedModel: null, labels: null };
  const smallest = { keyId: key.id, exchangeId: exchange.id, model: "", amount: 1, ...labels };
  accounts.release(await accounts.hold(smallest));
}

function noModelServes(use: ModelUse): GatewayError {
  const message = `This key has no model for ${use}. Ask the operator to add one (\`serves = ["${use}"]\`), or set \`model\`.`;
  return new GatewayError("model_not_found", message, { param: "model" });
}
