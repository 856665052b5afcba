import type { Quantities } from "../../base/money/rates.ts";
import { type HostedToolName, hostedToolNames, type ToolCalls } from "../../base/usage/hosted-tools.ts";
import {
  batchTier,
  type ExtraUsage,
  isUsualTier,
  noCalls,
  nothingReported,
  type ReportedExtras,
  type Tiers,
  tierFields,
} from "../../base/usage/usage.ts";
import { ownTierPrice } from "../../catalog/price.ts";
import type { ModelSettings, Price } from "../../config/settings.ts";
import { pricedName } from "../../dialects/tools/tool-families.ts";
import type { UnpricedTools } from "./requested-tools.ts";

/** The part of a request that costs more than its tokens at the list price. */
export interface RequestedExtras {
  /** The usage that the hold has to cover; audio tokens are 1 if there may be any. */
  readonly most: ExtraUsage;
  /** The units charged for a metered request, unless the provider reports others; absent if there are none. */
  readonly units?: Quantities;
  /** The highest plausible report of these units; absent if only the hold limits them. */
  readonly unitBounds?: Quantities;
  /** Calls that are made in any case. */
  readonly least: ToolCalls;
  /** By the requesting field. */
  readonly tiers: Tiers;
  /** The client's name for `service_tier`, if it has another. */
  readonly serviceTierField?: string;
  /** The provider may run the model several times for it, as with its own tools. */
  readonly mayRepeat: boolean;
  /** Additional model runs that the hold covers. */
  readonly rounds: readonly HeldRound[];
  readonly unpricedTools: UnpricedTools;
  /** Maximum web searches that a provider can run if it does not speak the client's dialect; absent for none. */
  readonly webSearches?: number;
  /** Set for a line of a batch. `isOpen`: it names no service tier itself, so it goes up with its model's. `hasBatchPrice`: the model's price of batches applies, if it has one. */
  readonly line?: { readonly isOpen: boolean; readonly hasBatchPrice: boolean };
}

/** An additional model run. It reads the same input as the run that writes the response. */
export interface HeldRound {
  /** Null for the call's own model. */
  readonly other: OtherModel | null;
  readonly times: number;
}

export interface OtherModel {
  readonly id: string;
  readonly price: Price | null;
  /** Null if unknown; it then counts as the call's own. */
  readonly maxOutputTokens: number | null;
}

const noTiers: Tiers = {};

/** The service tier that a line of a batch goes up with on this model; null if it is sent as it is. */
export function tierOfLine(
  extras: Pick<RequestedExtras, "line"> | null,
  { batchTier: tier }: Pick<ModelSettings, "batchTier">,
): string | null {
  return extras?.line?.isOpen === true ? tier : null;
}

/**
 * Whether lines of batches are charged the model's price of batches. The catalog has what the provider charges for its own batches, so
 * that price is only for lines that go there. An entry of the configuration has what the operator charges for any line.
 */
export function hasPriceOfLines({
  priceSource,
  batch,
}: Pick<ModelSettings, "priceSource" | "batch">): boolean {
  return priceSource !== "catalog" || batch === "native";
}

/**
 * The extras to charge: what the provider reports, or what was requested if it reports nothing. Null for no extras. A tier whose
 * field was dropped does not count as requested: the provider never saw it. Toward another dialect, a search is up to the model, and no call is made in any case.
 */
export function usedExtras(
  requested: RequestedExtras | null,
  dropped: readonly string[],
  price: Price | null,
  reported: ReportedExtras | null,
  isTranslated = false,
  model: Pick<ModelSettings, "batchTier" | "priceSource" | "batch"> | null = null,
): ExtraUsage | null {
  const lineTier = model && tierOfLine(requested, model);
  const named = lineTier === null ? requested?.tiers : { ...requested?.tiers, service_tier: lineTier };
  const sent = named === undefined ? noTiers : without(dropped, named, requested?.serviceTierField);
  const isOfBatch =
    (model === null || hasPriceOfLines(model)) && requested !== null && isAtBatchPrice(requested, price);
  const tiers = isOfBatch ? [batchTier] : usedTiers(sent, reported?.tiers ?? noTiers, price);
  const believed = plausibleCalls(reported?.calls ?? noCalls, requested?.most.calls ?? noCalls);
  const calls = isTranslated ? believed : withMinimum(believed, requested?.least ?? noCalls);
  const { audioInputTokens = 0, audioOutputTokens = 0 } = reported ?? {};
  const metered = partExtras(reported ?? nothingReported, requested);
  const isNothing = tiers.length === 0 && calls === noCalls && audioInputTokens + audioOutputTokens === 0;
  if (isNothing && metered === null) return null;
  const used = { tiers, calls, audioInputTokens, audioOutputTokens, ...metered };
  const isBelieved = areWithin(reported?.calls, believed) && areWithin(reported?.units, metered?.units);
  return isBelieved ? used : { ...used, isDoubtful: true };
}

/** Whatever the provider reports, and whatever it bills: the operator has set what a line costs. */
function isAtBatchPrice({ line, tiers }: RequestedExtras, price: Price | null): boolean {
  return line?.hasBatchPrice === true && Object.keys(tiers).length === 0 && isPriced(batchTier, price);
}

/** Prefix of a dropped tool's name, before its type. */
const toolPrefix = "tools.";

/**
 * Removes calls of tools that the provider did not get, by the names of dropped parts. A provider that reports such
 * calls made them unrequested. Tools in the hold were sent, unless a translation dropped them.
 */
export function withoutDropped(
  used: ExtraUsage,
  {
    dropped,
    unpricedTools,
  }: { readonly dropped: readonly string[]; readonly unpricedTools: readonly string[] },
  requested: RequestedExtras | null,
  isTranslated: boolean,
): ExtraUsage {
  if (used.calls === noCalls) return used;
  const sent = isTranslated ? searchesIn(used.calls, requested) : used.calls;
  const unsent = new Set(dropped.map(droppedTool));
  for (const tool of unpricedTools.map(droppedTool))
    if (tool !== null && requested?.most.calls[tool] === undefined) unsent.add(tool);
  const calls: { [Name in HostedToolName]?: number } = {};
  for (const name of hostedToolNames) {
    const { [name]: count } = sent;
    if (count !== undefined && !unsent.has(name)) calls[name] = count;
  }
  return Object.keys(calls).length === Object.keys(used.calls).length ? used : { ...used, calls };
}

function droppedTool(name: string): HostedToolName | null {
  if (name === "web_search_options") return "web_search";
  return name.startsWith(toolPrefix) ? pricedName(name.slice(toolPrefix.length)) : null;
}

function areWithin(reported: Quantities = {}, believed: Quantities = {}): boolean {
  return Object.entries(reported).every(([name, amount]) => amount <= (believed[name] ?? 0));
}

const partNames = [
  ...(["imageInputTokens", "imageOutputTokens"] as const),
  ...(["cachedAudioInputTokens", "cachedImageInputTokens", "cacheWriteDayTokens"] as const),
];

/** Images, what of the cache was audio or images, and units; null where nothing of it was reported. */
function partExtras(reported: ReportedExtras, requested: RequestedExtras | null): Partial<ExtraUsage> | null {
  const parts: { -readonly [Name in keyof ExtraUsage]?: ExtraUsage[Name] } = {};
  for (const name of partNames) if (reported[name] !== undefined) parts[name] = reported[name];
  const { units = requested?.units } = reported;
  if (units !== undefined) {
    const most = requested?.most.units ?? {};
    parts.units = plausibleUnits({ ...requested?.units, ...units }, most, requested?.unitBounds);
  }
  return Object.keys(parts).length === 0 ? null : parts;
}

/** An implausible count is clamped to what the request limits it to, or to what the hold allowed for. */
function plausibleUnits(reported: Quantities, held: Quantities, bounds: Quantities = {}): Quantities {
  return Object.fromEntries(
    Object.entries(reported).map(([name, amount]) => {
      const { [name]: bound } = bounds;
      if (bound !== undefined) return [name, Math.min(amount, bound)];
      const most = held[name] ?? 0;
      return [name, amount > Math.max(maxCalls, most) ? most : amount];
    }),
  );
}

function without(dropped: readonly string[], requested: Tiers, serviceTierField = "service_tier"): Tiers {
  const isSent = (field: string) => !dropped.includes(field === "service_tier" ? serviceTierField : field);
  return Object.fromEntries(Object.entries(requested).filter(([field]) => isSent(field)));
}

/**
 * The provider's report decides, field by field. A name without a price may be another name for the requested tier:
 * OpenAI reports `priority` for `fast`.
 */
function usedTiers(sent: Tiers, reported: Tiers, price: Price | null): string[] {
  const used: string[] = [];
  for (const field of tierFields) {
    const { [field]: requestedTier } = sent;
    const { [field]: servedTier = requestedTier } = reported;
    if (servedTier === undefined || servedTier === batchTier || isUsualTier(servedTier)) continue;
    const tier = [servedTier, requestedTier].find((name) => name !== undefined && isPriced(name, price));
    if (tier !== undefined) used.push(tier);
  }
  return used;
}

function isPriced(tier: string, price: Price | null): boolean {
  return price !== null && ownTierPrice(price, tier) !== undefined;
}

/** A translated request has no hosted tool but a web search, so no other call was requested. */
function searchesIn({ web_search }: ToolCalls, requested: RequestedExtras | null): ToolCalls {
  return web_search === undefined || (requested?.webSearches ?? 0) === 0 ? noCalls : { web_search };
}

/** No request makes a provider run one of its tools more often. */
const maxCalls = 10_000;

/** An implausible count is clamped to what the hold allowed for, as tokens are. */
function plausibleCalls(reported: ToolCalls, held: ToolCalls): ToolCalls {
  if (hostedToolNames.every((name) => (reported[name] ?? 0) <= maxCalls)) return reported;
  const believed: { [Name in HostedToolName]?: number } = { ...reported };
  for (const name of hostedToolNames) {
    if ((reported[name] ?? 0) > maxCalls) believed[name] = held[name] ?? 0;
  }
  return believed;
}

function withMinimum(calls: ToolCalls, least: ToolCalls): ToolCalls {
  if (least.web_search === undefined) return calls;
  return { ...calls, web_search: Math.max(calls.web_search ?? 0, least.web_search) };
}
