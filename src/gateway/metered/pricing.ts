import { assert } from "../../base/assert.ts";
import { invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Quantities } from "../../base/money/rates.ts";
import { estimateText, type InputEstimate } from "../../catalog/estimate.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { isCharged, type MeteredRouteName, meteredRoute } from "../../dialects/metered/registry.ts";
import type {
  FormFile,
  MeteredDemand,
  MeteredFormat,
  MeteredRoute,
  RouteBody,
} from "../../dialects/metered/route.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { RequestedExtras } from "../charge/extras.ts";
import { nothingExtra, requestExtras } from "../charge/requested-extras.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { withBody } from "../request/read-request.ts";
import type { RoutedCall } from "../request/route.ts";
import {
  formatsToward,
  isAboveInputs,
  maxWrittenBytes,
  pricesToward,
  rejectOverWritten,
} from "./destination.ts";

/** The most that a metered request can use at any of its deployments. */
export interface MeteredPricing {
  /** The request as sent, without token ids that the model does not know. */
  readonly request: ClientRequest;
  readonly files: readonly FormFile[];
  /** Maximum inputs that all deployments accept in one call. */
  readonly maxInputs: number;
  readonly estimatedInput: InputEstimate;
  /** An upper bound. */
  readonly demand: MeteredDemand;
  /** Input tokens of an ordinary text of this size. */
  readonly usualInput: number;
  /** Features that cost more than tokens. */
  readonly extras: RequestedExtras;
  /** The demand of a part of the request. */
  demandOf(part: RouteBody): MeteredDemand;
  /** The demand at a deployment that is charged by these names. */
  demandAt(body: RouteBody, priced: ReadonlySet<string>): MeteredDemand;
}

/** Throws if a provider does not support the route, or something in the request has no price. */
export async function priceMetered(
  call: RoutedCall,
  name: MeteredRouteName,
  formFiles: readonly FormFile[] | null,
): Promise<MeteredPricing> {
  const { configured, key, model, scope, pricedAtMs, request: sent } = call;
  const route = meteredRoute(name);
  const destination = { route, configured, model, scope, pricedAtMs };
  const chosen = formatsToward(destination, sent.bytes.length);
  const formats = chosen.map(({ format }) => format);
  const maxInputs = Math.min(
    ...chosen.map(({ format, target }) => format.maxInputs?.(target) ?? Number.POSITIVE_INFINITY),
  );
  if (isAboveInputs(route, sent, maxInputs)) rejectOverWritten(sent.bytes.length);
  const prices = pricesToward(destination);
  const files = formFiles ?? sent.files;
  for (const priced of prices) route.check?.(sent.truncated, priced, files);
  const request = await withoutForeignTokens(call, name, formats);

  const estimatedInput = request.estimateInput();
  const known = { limits: model, imageTokensMax: model.imageTokensMax, files, formats };
  const upperBound = {
    estimatedInput: estimatedInput.atMost,
    estimateText: (text: string) => Buffer.byteLength(text),
  };
  const demandAt = (body: RouteBody, priced: ReadonlySet<string>, estimates = upperBound) =>
    route.demand(body, { priced, ...known, ...estimates });
  const demandOf = (body: RouteBody) => largestDemand(prices.map((priced) => demandAt(body, priced)));
  const demand = demandOf(request);
  const usual = { estimatedInput: estimatedInput.tokens, estimateText };
  const usualInput = Math.max(...prices.map((priced) => demandAt(request, priced, usual).input));
  rejectUncounted(key, model, route, demand);
  const { dialect, isDeferred } = call;
  const extrasAt = {
    dialect,
    configured,
    model,
    scope,
    pricedAtMs,
    key,
    isMetered: true,
    isDeferred,
  } as const;
  const extras = askedFor(demand, requestExtras(withoutOwnFields(request, route), extrasAt));
  return { request, files, maxInputs, estimatedInput, demand, usualInput, extras, demandOf, demandAt };
}

/** Replaces token ids by their text for other models than OpenAI's, which number tokens differently. */
async function withoutForeignTokens(
  { gateway, exchange, keyId, request }: RoutedCall,
  name: MeteredRouteName,
  formats: readonly MeteredFormat[],
): Promise<ClientRequest> {
  const foreign = meteredRoute(name).foreignTokens?.(request, formats) ?? null;
  if (foreign === null) return request;
  rejectOverWritten(request.bytes.length);
  const texts = await gateway.tokens.of(keyId).decode(foreign.ids);
  if (texts === null) {
    throw invalidRequest("`input` has tokens that are not in cl100k_base. Send the text instead.", "input");
  }
  return withBody(exchange, foreign.withTexts(texts), name);
}

/** Token budgets can pay only for what is counted in tokens. */
function rejectUncounted(
  { mode }: KeyRecord,
  { id }: ModelSettings,
  route: MeteredRoute,
  { isInTokens }: MeteredDemand,
): void {
  if (mode === "credit" || isInTokens || !isCharged(route)) return;
  throw invalidRequest(
    `Token-budget keys cannot use model "${id}" for ${route.use}: it is not billed in tokens. Use a credit key.`,
    "model",
  );
}

/** The request without the fields that the route itself charges for. */
function withoutOwnFields(
  { truncated, tools, speaks, mentions }: ClientRequest,
  { ownFields }: MeteredRoute,
) {
  const own = Object.fromEntries((ownFields ?? []).map((name) => [name, null]));
  const body = { ...truncated, ...own };
  return { truncated: body, asked: body, tools, speaks, mentions };
}

/** An input of many texts may be above the model's window, as a request of several runs is. */
function askedFor(
  { maxExtras, certain: units, bounds: unitBounds = {} }: MeteredDemand,
  extras: RequestedExtras | null,
): RequestedExtras {
  const requested = extras ?? nothingExtra;
  const { tiers: _, ...metered } = maxExtras;
  return { ...requested, most: { ...requested.most, ...metered }, units, unitBounds, mayRepeat: true };
}

/**
 * One deployment may charge by tokens, another by the minute. The demand is in tokens only if all of them charge by
 * tokens.
 */
export function largestDemand(demands: readonly MeteredDemand[]): MeteredDemand {
  const [first, ...others] = demands;
  assert(first !== undefined, "a model has deployments");
  return others.reduce(largerOf, first);
}

function largerOf(one: MeteredDemand, other: MeteredDemand): MeteredDemand {
  return {
    input: Math.max(one.input, other.input),
    output: Math.max(one.output, other.output),
    isInTokens: one.isInTokens && other.isInTokens,
    canBeCounted: one.canBeCounted && other.canBeCounted,
    maxExtras: {
      ...one.maxExtras,
      ...other.maxExtras,
      units: largerAmounts(one.maxExtras.units, other.maxExtras.units),
    },
    certain: largerAmounts(one.certain, other.certain),
    bounds: largerAmounts(one.bounds, other.bounds),
  };
}

function largerAmounts(one: Quantities = {}, other: Quantities = {}): Quantities {
  const larger: Record<string, number> = { ...one };
  for (const [name, amount] of Object.entries(other)) larger[name] = Math.max(larger[name] ?? 0, amount);
  return larger;
}

interface CountedCall extends Pick<MeteredPricing, "request" | "demand"> {
  readonly call: RoutedCall;
  readonly route: MeteredRoute;
}

/** For input that is not counted exactly. */
const usualBytesPerToken = 4;

/**
 * Counts the input of a request's bodies, or of parts of it. Token ids and input other than text count as estimated. A request
 * that takes long to parse is counted by the tokenizer's thread, which knows the texts of some routes only.
 */
export async function countInput(
  { call, route, request, demand, usualInput }: CountedCall & Pick<MeteredPricing, "usualInput">,
  bodies: () => readonly JsonObject[],
): Promise<number> {
  const { texts } = route;
  if (texts === undefined) return 0;
  const tokens = call.gateway.tokens.of(call.keyId);
  if (!demand.canBeCounted) {
    const hasMessages = Array.isArray(request.truncated["messages"]);
    return hasMessages ? Math.max(usualInput, await tokens.request(request.bytes)) : usualInput;
  }
  if (request.bytes.length <= maxWrittenBytes) return tokens.text(bodies().flatMap((body) => texts(body)));
  return Math.max(await tokens.request(request.bytes), Math.ceil(request.bytes.length / usualBytesPerToken));
}

/** Upper bound of a count of the whole request, for its hold. */
export async function countAtMost({ call, route, request, demand }: CountedCall): Promise<number> {
  const { texts } = route;
  const isLong = request.bytes.length > maxWrittenBytes;
  if (texts === undefined || !demand.canBeCounted || isLong) return demand.input;
  return call.gateway.tokens.of(call.keyId).text([...texts(request.body)], true);
}
