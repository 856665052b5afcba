import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { pathOf } from "../../dialects/json/name-path.ts";
import { isCharged, type MeteredRouteName, meteredRoute } from "../../dialects/metered/registry.ts";
import { type FormFields, type MeteredRoute, meteredDialect } from "../../dialects/metered/route.ts";
import { admit } from "../admission/admit.ts";
import { mayBePaced } from "../body-worker/request-pacer.ts";
import { holdFor, priceNow, settledOrReleased } from "../charge/hold.ts";
import { rejectSpent } from "../charge/reject-spent.ts";
import { reserveTokens } from "../charge/reserve-tokens.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { claimIdempotency, idempotencyKeyOf } from "../exchange/claims.ts";
import { beginContent } from "../exchange/content.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { findModel, permitted, rejectUnpriced } from "../request/model.ts";
import { readRequest, withBody } from "../request/read-request.ts";
import { noTurn, noteRequest, route } from "../request/route.ts";
import { replay } from "../response/record-response.ts";
import { boundaryOf } from "./form/form-parser.ts";
import { bodyOfForm, readForm } from "./form/read-form.ts";
import type { SpooledForm } from "./form/spooled-form.ts";
import { meteredPlan } from "./metered-call.ts";
import { priceMetered } from "./pricing.ts";
import { respondMetered, streamMetered } from "./respond.ts";

/**
 * Serves a request of a metered route: the steps of a generation (generate.ts), in the same order. Its body may be a form, which takes a
 * concurrency slot before it is read, and is disposed of with the request.
 */
export async function serveMetered(
  gateway: Gateway,
  exchange: Exchange,
  name: MeteredRouteName,
): Promise<Response> {
  const metered = meteredRoute(name);
  exchange.tracedAs = metered.inPath === undefined ? null : metered.tracedAs;
  exchange.joinTrace();

  const call = await admit(gateway, exchange);
  await using form = await takeForm(call, metered);
  if (form === null && isCharged(metered) && mayBePaced(exchange.call)) await rejectSpent(call, metered.use);
  const request = form === null ? await readRequest(call, name) : readFields(exchange, form, name);
  // Where the answer is always whole, a client that disconnects does not end it: the provider bills it anyway, and the client's
  // retry finds it under its idempotency key.
  exchange.outlivesClient = metered.streams === undefined || metered.outlivesClient === true;
  const idempotencyKey = idempotencyKeyOf(exchange.call);
  const session = noteRequest(call, dialect, request, isStreamed(metered, request));

  const model = permitted(call, findMeteredModel(call, metered, request));
  if (isCharged(metered)) rejectUnpriced(call.key, model);
  rejectHostedTools(request);
  const read = { request, turn: noTurn };
  const routed = await route(call, read, model, { dialect, isMetered: true }, session);
  const price = () => priceMetered(routed, name, form?.files ?? null);
  const pricing = await price();

  const stored = idempotencyKey === null ? null : await claimIdempotency(call, idempotencyKey, request);
  if (stored !== null) return replay(exchange, stored);
  if (form === null) await gateway.ongoing.enter(exchange, call.keyId);
  const plan = meteredPlan(routed, name, metered, form, priceNow(exchange) ? await price() : pricing);
  const { wanted } = plan;
  if (call.hasTokenLimits) await reserveTokens(gateway, exchange, wanted);
  const meter = await holdFor(gateway, exchange, wanted);
  const relays = exchange.stream || metered.relaysBytes === true;
  // Awaited, because a form is needed until the provider has it.
  return await settledOrReleased(gateway, exchange, wanted, meter, () =>
    relays ? streamMetered({ meter, ...plan }) : respondMetered({ meter, ...plan }),
  );
}

/** Errors, and the fields that cost extra, are OpenAI's. */
const dialect = meteredDialect;

const noFields: FormFields = { numbers: [], texts: [] };

function readFields(exchange: Exchange, form: SpooledForm, name: MeteredRouteName): ClientRequest {
  const body = bodyOfForm(form, meteredRoute(name).takesForms ?? noFields);
  return withBody(exchange, body, name).sentAs(form);
}

function isStreamed({ streams, isStreamed }: MeteredRoute, { truncated, stream }: ClientRequest): boolean {
  return streams !== undefined && (isStreamed?.(truncated) ?? stream);
}

/** Routes that need no name are served by the first model of the key that serves them. */
function findMeteredModel(
  { configured, key }: AdmittedCall,
  { use, modelIsOptional }: MeteredRoute,
  { modelId }: ClientRequest,
): ModelSettings {
  if (modelId != null || modelIsOptional !== true) return findModel(configured, key, modelId ?? "", use);
  const model = configured.catalog.modelsFor(key).find(({ serves }) => serves.includes(use));
  if (model === undefined) throw noModelServes(use);
  return model;
}

/** Rejects hosted tools, whose calls no metered response reports. */
function rejectHostedTools({ tools: { hosted } }: ClientRequest): void {
  const [first] = hosted;
  if (first === undefined) return;
  throw invalidRequest("Hosted tools work only for generation. Remove them.", pathOf(first.path));
}

/** A form takes a concurrency slot before any disk space, and only if the key could pay for it. Null if the body is not a form. */
async function takeForm(call: AdmittedCall, { takesForms, use }: MeteredRoute): Promise<SpooledForm | null> {
  const { gateway, exchange, keyId } = call;
  const { headers } = exchange.call.request;
  const boundary = takesForms === undefined ? null : boundaryOf(headers.get("content-type"));
  if (boundary === null) return null;
  await rejectSpent(call, use);
  await gateway.ongoing.enter(exchange, keyId);
  call.takeFormSlot();
  const form = await readForm(exchange, boundary, gateway.forms.reserve(keyId));
  if (gateway.content !== null) beginContent(gateway.content, call, JSON.stringify(form.described()));
  return form;
}

function noModelServes(use: ModelUse): GatewayError {
  const message = `This key has no model for ${use}. Ask the operator to add one (\`serves = ["${use}"]\`), or set \`model\`.`;
  return new GatewayError("model_not_found", message, { param: "model" });
}
