import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import {
  batchTier,
  type ExtraUsage,
  isUsualTier,
  noCalls,
  type TierField,
  tierFields,
} from "../../base/usage/usage.ts";
import { hasRequestFee, ownTierPrice } from "../../catalog/price.ts";
import type { Price } from "../../config/settings.ts";
import { listOf, objectOf } from "../../dialects/json/json-fields.ts";
import type { BilledEffect, FieldVendor } from "../../dialects/names/billed-fields.ts";
import type { RequestedField } from "../../dialects/names/inspect-body.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { requestedAdvisors } from "./advisors.ts";
import { type Destination, DestinationPrices, requestFee } from "./destination-prices.ts";
import { type HeldRound, hasPriceOfLines, type RequestedExtras } from "./extras.ts";
import { HeldCalls, holdTools, noUnpricedTools } from "./requested-tools.ts";

/** Reasons for rejecting a field without a price. */
const reasons: Readonly<Record<Exclude<BilledEffect, "tool" | "template">, string>> = {
  routing: "can route the request to another model or host at another price",
  storage: "uses storage at the provider that is billed by the hour",
  agents: "can start sub-agents at an unknown cost",
  data: "lets the provider read or write data with the operator's identity",
};

/** Not only a matter of cost, so a model that is free allows none of it. */
const neverFree: ReadonlySet<BilledEffect> = new Set(["routing", "template", "data"]);

type ExtrasRequest = Pick<ClientRequest, "truncated" | "asked" | "tools" | "speaks" | "mentions">;

/**
 * Throws `invalid_request` for a feature without a price, naming the field and the missing price. Null for most
 * requests, which only ask for text.
 */
export function requestExtras(request: ExtrasRequest, destination: Destination): RequestedExtras | null {
  const extras = extrasOf(request, destination);
  return destination.isDeferred === true
    ? extrasOfLine(request, destination, extras ?? nothingExtra)
    : extras;
}

/**
 * A line that names no tier may be charged by any of those that lines have. One that names the usual tier goes up with
 * it and costs its price, except in a provider's own batch, which the provider bills in one way.
 */
function extrasOfLine(
  { truncated }: ExtrasRequest,
  { isMetered = false, model }: Destination,
  extras: RequestedExtras,
): RequestedExtras {
  const { service_tier: named } = truncated;
  const isOpen = !isMetered && named === undefined;
  const hasBatchPrice = typeof named !== "string" || model.batch === "native";
  const { most } = extras;
  const ofLines = hasPriceOfLines(model) ? [batchTier, ...tiersOfLines] : tiersOfLines;
  const tiers = most.tiers.length === 0 && hasBatchPrice ? ofLines : most.tiers;
  return { ...extras, most: { ...most, tiers }, line: { isOpen, hasBatchPrice } };
}

const tiersOfLines: readonly string[] = ["flex"];

function extrasOf(request: ExtrasRequest, destination: Destination): RequestedExtras | null {
  const { asked, tools, speaks, mentions } = request;
  rejectBackground(asked);
  const isUsual = tierFields.every((field) => isUsualOrAbsent(asked[field]));
  const modality = otherModality(asked);
  const isText = modality === undefined && !speaks && mentions.audioInput === null;
  const isOneRound = tools.hosted.length === 0 && mentions.billed.length === 0 && !asksForCompaction(asked);
  const { configured, model, isMetered, pricedAtMs } = destination;
  const price = isMetered === true ? null : configured.catalog.holdPrice(model, pricedAtMs);
  const fee = price !== null && hasRequestFee(price) ? requestFee(request, model, price) : null;
  const images = price === null ? null : heldImages(price);
  const isPlain = isText && isOneRound && isUsual;
  if (isPlain && fee === null && images === null) return null;
  const extras = isPlain ? nothingExtra : pricedExtras(request, modality, new DestinationPrices(destination));
  const units = fee === null ? {} : { units: fee };
  return { ...extras, ...units, most: { ...extras.most, ...units, ...images } };
}

/** A model with prices for images may draw without being asked to, and any input may be an image. Null for other models. */
function heldImages({
  extras = {},
}: Price): Pick<ExtraUsage, "imageInputTokens" | "imageOutputTokens"> | null {
  const { image_input: input, image_output: output } = extras;
  if (input === undefined && output === undefined) return null;
  return { imageInputTokens: 1, imageOutputTokens: 1 };
}

export const nothingExtra: RequestedExtras = {
  most: { tiers: [], calls: noCalls, audioInputTokens: 0, audioOutputTokens: 0 },
  least: noCalls,
  tiers: {},
  mayRepeat: false,
  rounds: [],
  unpricedTools: noUnpricedTools,
};

function pricedExtras(
  { asked, tools, speaks, mentions }: ExtrasRequest,
  modality: Json | undefined,
  prices: DestinationPrices,
): RequestedExtras {
  const tier = requestedTier(asked, prices);
  if (modality !== undefined) prices.demandModality(prices.outputField(asked, modality), modality);
  if (tier !== null)
    prices.demand(tier.shownAs, `tiers.${tier.name}`, (price) => ownTierPrice(price, tier.name));
  if (mentions.audioInput !== null) {
    prices.demand(mentions.audioInput, "audio_input", ({ extras }) => extras?.["audio_input"]);
  }
  if (speaks)
    prices.demand(
      prices.outputField(asked, "audio"),
      "audio_output",
      ({ extras }) => extras?.["audio_output"],
    );
  const held = new HeldCalls();
  const repeatsForFields = holdFields(mentions.billed, prices, held);
  const unpricedTools = holdTools(tools, asked, prices, held);
  const isReached = prices.speakers.length > 0;
  const isCompacted = isReached && asksForCompaction(asked);
  const rounds: HeldRound[] = requestedAdvisors(tools.hosted, prices);
  if (isCompacted && mayCompactFirst(asked)) rounds.push({ other: null, times: 1 });
  const webSearches = prices.translateSearch ? (held.most.web_search ?? 0) : 0;
  const repeatsForTools = webSearches > 0 || (isReached && tools.hosted.length > unpricedTools.count);
  return {
    most: {
      tiers: tier === null ? [] : [tier.name],
      calls: held.most,
      audioInputTokens: mentions.audioInput === null ? 0 : 1,
      audioOutputTokens: speaks ? 1 : 0,
    },
    least: held.least,
    ...(tier === null
      ? { tiers: {} }
      : { tiers: { [tier.field]: tier.name }, serviceTierField: prices.names.serviceTier }),
    mayRepeat: repeatsForTools || repeatsForFields || isCompacted,
    rounds,
    unpricedTools,
    webSearches,
  };
}

/** OpenAI's and xAI's names for a response that is fetched later. */
const laterFields = ["background", "deferred"];

/** Not only `true`: some providers take `1` and `"yes"` for it. */
function rejectBackground(body: JsonObject): void {
  for (const field of laterFields) {
    const value = body[field] ?? false;
    if (value === false) continue;
    if (value !== true) throw invalidRequest(`\`${field}\` must be true or false.`, field);
    throw invalidRequest(
      `\`${field}: true\` is not supported. Remove it and wait for the response, or use \`stream: true\`.`,
      field,
    );
  }
}

/** The first requested output modality other than text and speech, such as an image; undefined if there is none. */
function otherModality({ modalities = null }: JsonObject): Json | undefined {
  if (modalities === null) return undefined;
  const requestedModalities = Array.isArray(modalities) ? modalities : [modalities];
  return requestedModalities.find((modality) => modality !== "text" && modality !== "audio");
}

interface RequestedTier {
  readonly field: TierField;
  /** The client's name for the field. */
  readonly shownAs: string;
  readonly name: string;
}

/** Fields of one vendor. The others are in several dialects. */
const tierVendors: Partial<Record<TierField, readonly FieldVendor[]>> = {
  speed: ["Anthropic"],
  inference_geo: ["Anthropic"],
};

function isUsualOrAbsent(name: Json | undefined): boolean {
  return name == null || (typeof name === "string" && isUsualTier(name));
}

/** Two such choices at once have no price. */
function requestedTier(body: JsonObject, prices: DestinationPrices): RequestedTier | null {
  let asked: RequestedTier | null = null;
  for (const field of tierFields) {
    const name = body[field] ?? null;
    const { [field]: vendors } = tierVendors;
    if (isUsualOrAbsent(name) || (vendors !== undefined && !prices.actOn(vendors))) continue;
    const shownAs = field === "service_tier" ? prices.names.serviceTier : field;
    if (typeof name !== "string") throw invalidRequest(`\`${shownAs}\` must be a string.`, shownAs);
    if (name === batchTier) {
      throw invalidRequest(
        `\`${shownAs}\` cannot be "${batchTier}". Remove it: lines of batches have their price without it.`,
        shownAs,
      );
    }
    if (asked !== null) {
      throw invalidRequest(
        `\`${shownAs}\` and \`${asked.shownAs}\` cannot be combined: there is no price for both. Send one of them.`,
        shownAs,
      );
    }
    asked = { field, shownAs, name };
  }
  return asked;
}

/** Whether a run that summarizes the conversation is requested, before the response or in its place. */
export function asksForCompaction(body: JsonObject): boolean {
  return (body["compaction"] ?? null) !== null || mayCompactFirst(body);
}

/** Whether the provider may summarize the conversation before it responds, and so read it twice. */
function mayCompactFirst({ context_management: management }: JsonObject): boolean {
  return editsOf(management).some(isCompaction);
}

/** OpenAI has a list of what is done to the conversation, Anthropic has it within an object. */
function editsOf(management: Json | undefined): readonly Json[] {
  return Array.isArray(management) ? management : listOf(objectOf(management)?.["edits"]);
}

/** `compaction`, `compact_20260112`, … */
function isCompaction(edit: Json): boolean {
  return isObject(edit) && typeof edit["type"] === "string" && edit["type"].startsWith("compact");
}

/**
 * Holds for the tools that fields of the request turn on. Throws for a field that has no price and that the operator
 * has not allowed. Returns whether any of them makes the provider run the model more than once.
 */
function holdFields(fields: readonly RequestedField[], prices: DestinationPrices, held: HeldCalls): boolean {
  let mayRepeat = false;
  if (prices.speakers.length === 0) {
    const asksForSearch = fields.some(({ name }) => name === "web_search_options");
    if (asksForSearch && prices.translateSearch) held.add("web_search", null);
    return mayRepeat;
  }
  for (const field of fields) {
    const { name, effect, tool = null, vendors } = field;
    if (!prices.actOn(vendors)) continue;
    const isCovered = !neverFree.has(effect) && prices.coverCalls(tool);
    if (!isCovered && !prices.allows(name)) throw rejectionOf(field, prices);
    if (effect !== "routing") mayRepeat = true;
    held.add(tool, null);
    // Such a search is made once, whatever the model thinks of it.
    if (name === "web_search_options") held.least = { web_search: 1 };
  }
  return mayRepeat;
}

function rejectionOf({ path, name, effect, tool }: RequestedField, prices: DestinationPrices): GatewayError {
  switch (effect) {
    case "template":
      return templateNotFound(name === "prompt" ? `${path}.id` : path, name);
    case "tool":
      if (prices.lackPermission(tool ?? null)) {
        return prices.permissionError(path, `runs ${JSON.stringify(tool)} at the provider`);
      }
      return prices.rejection(
        path,
        name,
        `runs ${tool == null ? "a tool" : `"${tool}"`} at the provider`,
        tool == null ? "has no price for" : `has no \`price.${tool}\` for`,
      );
    default:
      return prices.rejection(path, name, reasons[effect]);
  }
}

/** A template is the operator's, and adds tools and text that the gateway cannot see. No response contains its id. */
function templateNotFound(path: string, name: string): GatewayError {
  return new GatewayError(
    "not_found",
    `\`${path}\` is not available to this key. Send the prompt text instead, or ask the operator to allow stored prompts (\`allow = ["${name}"]\`).`,
    { param: path },
  );
}
