import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import { traceContextOf } from "../../base/requests/trace-context.ts";
import { noCalls } from "../../base/usage/extra-usage.ts";
import { estimateText } from "../../catalog/estimate.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { type MeteredRouteName, meteredRoute } from "../../dialects/metered/registry.ts";
import type {
  FormFields,
  MeteredDemand,
  MeteredFormat,
  MeteredRoute,
  RouteBody,
} from "../../dialects/metered/route.ts";
import { pathOf } from "../../dialects/names/name-path.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { admit } from "../admission/admit.ts";
import { askedExtras } from "../charge/asked-extras.ts";
import { nothingWithheld } from "../charge/asked-tools.ts";
import { charged } from "../charge/charged.ts";
import type { AskedExtras } from "../charge/extras.ts";
import { beginContent, narrowContent } from "../content.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { claimIdempotency, replay } from "../request/idempotent.ts";
import { labelExchange } from "../request/labels.ts";
import { continuationOf } from "../request/provider-id-owners.ts";
import { readRequest, rewritten } from "../request/read-request.ts";
import {
  type ClientRequest,
  findModel,
  idempotencyKeyOf,
  refuseForbidden,
  refuseUnpriced,
} from "../request/request.ts";
import { answerMetered } from "./answer.ts";
import { countAtMost } from "./count-input.ts";
import {
  countedNames,
  formatsToward,
  isAboveInputs,
  pricesToward,
  refuseOverWritten,
} from "./destination.ts";
import { boundaryOf } from "./form/form-parser.ts";
import { bodyOfForm, readForm } from "./form/read-form.ts";
import type { SpooledForm } from "./form/spooled-form.ts";
import { largestDemand } from "./largest-demand.ts";
import { streamMetered } from "./stream.ts";

/**
 * A metered request, from top to bottom, in the order of a generation. Where its answer is always whole, a client that leaves does not
 * end it: the provider bills it anyway, and the client's retry finds it under its idempotency key.
 */
export async function serveMetered(
  gateway: Gateway,
  exchange: Exchange,
  name: MeteredRouteName,
): Promise<Response> {
  const route = meteredRoute(name);
  const { call, configured } = exchange;
  exchange.trace = traceContextOf(call.request.headers, configured.settings.tracing !== null);
  const key = await admit(gateway, exchange);
  await using form = await takeForm(gateway, exchange, key, route);
  const sent =
    form === null
      ? await readRequest(gateway, exchange, key, name)
      : rewritten(exchange, bodyOfForm(form, route.takesForms ?? noFields), name);
  call.keepWaiting();
  exchange.stream = route.streams !== undefined && (route.isStreamed?.(sent.truncated) ?? sent.stream);
  exchange.outlivesClient = route.streams === undefined || route.outlivesClient === true;
  const idempotencyKey = idempotencyKeyOf(call);
  labelExchange(gateway, exchange, key, "chat", sent.truncated);

  const model = modelFor(exchange, key, sent, route);
  refuseForbidden(configured, key, model);
  if (route.prices.length > 0) refuseUnpriced(key, model);
  refuseHostedTools(sent);
  const { mentions } = sent;
  const continuing = { configured, key, model, dialect: "chat", mentions } as const;
  const { scope, credential } = await continuationOf(gateway.idOwners, continuing);
  const destination = { route, configured, model, scope };
  const chosen = formatsToward(destination, sent.bytes.length);
  const formats = chosen.map(({ format }) => format);
  const mostInputs = Math.min(
    ...chosen.map(({ format, target }) => format.maxInputs?.(target) ?? Number.POSITIVE_INFINITY),
  );
  if (isAboveInputs(route, sent, mostInputs)) refuseOverWritten(sent.bytes.length);
  const prices = pricesToward(destination);
  const files = form?.files ?? sent.large?.files ?? route.filesIn?.(sent) ?? [];
  for (const priced of prices) route.check?.(sent.truncated, priced, files);
  const request = await withoutForeignTokens(gateway, exchange, key, name, sent, formats);
  const estimatedInput = request.estimateInput();
  const { imageTokensMax } = model;
  const known = { limits: model, imageTokensMax, files, formats };
  const most = {
    estimatedInput: estimatedInput.atMost,
    estimateText: (text: string) => Buffer.byteLength(text),
  };
  const demandAt = (body: RouteBody, priced: ReadonlySet<string>, estimates = most) =>
    route.demand(body, { priced, ...known, ...estimates });
  const demandOf = (body: RouteBody) => largestDemand(prices.map((priced) => demandAt(body, priced)));
  const demand = demandOf(request);
  const usual = { estimatedInput: estimatedInput.tokens, estimateText };
  const usualInput = Math.max(...prices.map((priced) => demandAt(request, priced, usual).input));
  refuseUncounted(key, model, route, demand);
  const extras = askedExtras(withoutOwnFields(request, route), { ...continuing, scope });
  exchange.askedExtras = askedFor(demand, extras);

  const claimed = await claimIdempotency(gateway, exchange, key, idempotencyKey, form ?? sent);
  if (claimed.kind === "replay") return replay(exchange, claimed);
  exchange.claim = claimed.claim;
  if (form === null) await gateway.ongoing.enter(exchange, key.id);

  // What is charged by its hold, where the provider reports nothing, is charged as ordinary text.
  const held = { input: usualInput, output: demand.output };
  const askedAt = ({ price }: Deployment) => {
    const priced = [...countedNames(route, price)];
    return { model: model.id, body: request.truncated, files, held, priced };
  };
  const isInTokensAt = ({ price }: Deployment) => demandAt(request, countedNames(route, price)).isInTokens;
  const parts = { route, exchange, model, keyId: key.id, scope, credential, request, form };
  const demands = { demand, usualInput, demandOf, askedAt, isInTokensAt };
  const asking = { gateway, key, name, mostInputs, estimatedInput, ...demands, ...parts };
  const wanted = {
    key,
    model,
    atMost: { input: demand.input, output: demand.output },
    usual: held,
    storedInput: 0,
    requestBytes: request.bytes,
    canBeCounted: demand.canBeCounted,
    countInput: () => countAtMost(asking),
  };
  // Awaited, because the form is needed until the provider has it.
  return await charged(gateway, exchange, wanted, (bill) =>
    exchange.stream || route.relaysBytes === true
      ? streamMetered({ bill, ...asking })
      : answerMetered({ bill, ...asking }),
  );
}

/** No metered answer reports their calls. */
function refuseHostedTools({ tools: { hosted } }: ClientRequest): void {
  const [first] = hosted;
  if (first === undefined) return;
  throw invalidRequest(
    "Tools that the provider runs are for generation only; leave them out.",
    pathOf(first.path),
  );
}

/** The request as far as it may ask for what is charged beside the route's own units. */
function withoutOwnFields(
  { truncated, tools, speaks, mentions }: ClientRequest,
  { ownFields }: MeteredRoute,
) {
  const own = Object.fromEntries((ownFields ?? []).map((name) => [name, null]));
  return { truncated: { ...truncated, ...own }, tools, speaks, mentions };
}

const noFields: FormFields = { numbers: [], texts: [] };

/** A form takes a place before it takes any disk, and that only from a key that could pay for it. Null if the request is none. */
async function takeForm(
  gateway: Gateway,
  exchange: Exchange,
  key: KeyRecord,
  { takesForms, use }: MeteredRoute,
): Promise<SpooledForm | null> {
  const { request } = exchange.call;
  const boundary = takesForms === undefined ? null : boundaryOf(request.headers.get("content-type"));
  if (boundary === null) return null;
  await refuseSpent(gateway, exchange, key, use);
  await gateway.ongoing.enter(exchange, key.id);
  exchange.formSlot = gateway.formSlots.reserve(key.id);
  if (!exchange.formSlot.grow(1)) throw tooManyForms();
  const form = await readForm(exchange, boundary, gateway.forms.reserve(key.id));
  if (gateway.content !== null) beginContent(gateway, exchange, key, JSON.stringify(form.described()));
  return form;
}

function tooManyForms(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "This key has as many forms in flight as the gateway allows. Retry when one of them is answered.",
  );
}

/** Which model is asked for comes with the form, perhaps at its end. A retry may be answered for free. */
async function refuseSpent(
  { accounts }: Gateway,
  { id: exchangeId, call, configured: { catalog } }: Exchange,
  key: KeyRecord,
  use: ModelUse,
): Promise<void> {
  const isFree = catalog.modelsFor(key).some(({ serves, free }) => free && serves.includes(use));
  if (isFree || idempotencyKeyOf(call) !== null) return;
  const labels = { askedModel: null, labels: null };
  accounts.release(await accounts.hold({ keyId: key.id, exchangeId, model: "", amount: 1, ...labels }));
}

/** Routes that need no name are served by the first model of the key that serves them. */
function modelFor(
  exchange: Exchange,
  key: KeyRecord,
  { modelId }: ClientRequest,
  { use, modelIsOptional }: MeteredRoute,
): ModelSettings {
  const { configured } = exchange;
  const isNamed = modelId != null || modelIsOptional !== true;
  const model = isNamed
    ? findModel(configured, key, modelId ?? "", use)
    : configured.catalog.modelsFor(key).find(({ serves }) => serves.includes(use));
  if (model === undefined) throw noneServes(use);
  exchange.model = model;
  narrowContent(exchange);
  if (modelId != null && modelId !== model.id) exchange.askedModel = modelId;
  return model;
}

function noneServes(use: ModelUse): GatewayError {
  const message = `This key has no model for ${use}. Ask the operator to add one (\`serves = ["${use}"]\`), or set \`model\`.`;
  return new GatewayError("model_not_found", message, { param: "model" });
}

/** Ids of tokens mean something else to other models than OpenAI's, and become the text that they stand for. */
async function withoutForeignTokens(
  gateway: Gateway,
  exchange: Exchange,
  key: KeyRecord,
  name: MeteredRouteName,
  request: ClientRequest,
  formats: readonly MeteredFormat[],
): Promise<ClientRequest> {
  const foreign = meteredRoute(name).foreignTokens?.(request, formats) ?? null;
  if (foreign === null) return request;
  refuseOverWritten(request.bytes.length);
  const texts = await gateway.tokens.of(key.id).decode(foreign.ids);
  if (texts === null) {
    throw invalidRequest("`input` has tokens that are not in cl100k_base; send the text instead.", "input");
  }
  return rewritten(exchange, foreign.withTexts(texts), name);
}

/** Budgets are in tokens, so what has none cannot be taken from them. */
function refuseUncounted(
  { mode }: KeyRecord,
  { id }: ModelSettings,
  { prices, use }: MeteredRoute,
  { isInTokens }: MeteredDemand,
): void {
  if (mode === "credit" || isInTokens || prices.length === 0) return;
  throw invalidRequest(
    `Token-budget keys cannot use model "${id}" for ${use}: it is not billed in tokens. Use a credit key.`,
    "model",
  );
}

/** An input of many texts may be above the model's window, as a request of several runs is. */
function askedFor(
  { maxExtras, certain: units, bounds: unitBounds = {} }: MeteredDemand,
  extras: AskedExtras | null,
): AskedExtras {
  const asked = extras ?? nothingAsked;
  const { tiers: _, ...metered } = maxExtras;
  return { ...asked, most: { ...asked.most, ...metered }, units, unitBounds, mayRepeat: true };
}

const nothingAsked: AskedExtras = {
  most: { tiers: [], calls: noCalls, audioInputTokens: 0, audioOutputTokens: 0 },
  least: noCalls,
  tiers: {},
  mayRepeat: true,
  rounds: [],
  withheld: nothingWithheld,
};
