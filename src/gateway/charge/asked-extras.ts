import { invalidRequest } from "../../base/errors.ts";
import type { HostedToolName, ToolCalls } from "../../base/hosted-tools.ts";
import type { JsonObject } from "../../base/json.ts";
import { isUsualTier, type TierField, tierFields } from "../../base/service-tiers.ts";
import { inScope, type KeyAccess } from "../../catalog/catalog.ts";
import { ownTierPrice } from "../../catalog/extra-price.ts";
import type { DeploymentSettings, ModelSettings, Price } from "../../config/settings.ts";
import { type ClientDialectName, isSpoken } from "../../dialects/registry.ts";
import type { HostedTool } from "../../dialects/tools/hosted-tools.ts";
import type { Configured } from "../configured.ts";
import type { ClientRequest } from "../request/request.ts";
import { askedAdvisors } from "./advisors.ts";
import type { AskedExtras, HeldRound } from "./extras.ts";
import { heldCalls, mostCallsHeld } from "./held-calls.ts";
import { asksForCompaction, asksForSeveralAgents, mayCompactFirst, severalAgents } from "./rounds.ts";

/** Where a request may go: deployments of the model and its fallbacks, within the scope. */
interface Destination {
  readonly dialect: ClientDialectName;
  readonly configured: Configured;
  readonly model: ModelSettings;
  readonly scope: string;
  readonly key: KeyAccess;
}

/**
 * Throws `invalid_request` for what has no price, naming the field and the price that is missing. Null for most
 * requests, which ask for text alone.
 */
export function askedExtras(request: ClientRequest, destination: Destination): AskedExtras | null {
  const { truncated, hostedTools, speaks, mentions } = request;
  refuseBackground(truncated);
  refuseOtherModels(truncated);
  const tier = askedTier(truncated);
  const modality = otherModality(truncated);
  const isText = modality === null && !speaks && mentions.audioInput === null;
  const isOneRound =
    hostedTools.length === 0 && !asksForSeveralAgents(truncated) && !asksForCompaction(truncated);
  if (isText && isOneRound && tier === null) return null;
  return pricedExtras(request, tier, modality, new Prices(destination));
}

function pricedExtras(
  { truncated, hostedTools, speaks, mentions }: ClientRequest,
  tier: AskedTier | null,
  modality: string | null,
  prices: Prices,
): AskedExtras {
  if (modality !== null) prices.refuseUnlessFree("modalities", modality);
  const hasAgents = asksForSeveralAgents(truncated) && prices.demandAgents();
  if (tier !== null)
    prices.demand(tier.field, `tiers.${tier.name}`, (price) => ownTierPrice(price, tier.name));
  if (mentions.audioInput !== null) {
    prices.demand(mentions.audioInput, "audio_input", (price) => price.audioInput);
  }
  if (speaks) prices.demand("modalities", "audio_output", (price) => price.audioOutput);
  const { most, least, isReached } = callsOf(hostedTools, prices);
  const isCompacted = prices.hasSpeakers && asksForCompaction(truncated);
  const rounds: HeldRound[] = prices.advisors(hostedTools);
  if (isCompacted && mayCompactFirst(truncated)) rounds.push({ other: null, times: 1 });
  return {
    most: {
      tiers: tier === null ? [] : [tier.name],
      calls: most,
      audioInputTokens: mentions.audioInput === null ? 0 : 1,
      audioOutputTokens: speaks ? 1 : 0,
    },
    least,
    tiers: tier === null ? {} : { [tier.field]: tier.name },
    mayRepeat: isReached || hasAgents || isCompacted,
    rounds,
  };
}

/** Not only `true`: some providers take `1` and `"yes"` for it. */
function refuseBackground({ background = null }: JsonObject): void {
  if (background === null || background === false) return;
  throw invalidRequest(
    "`background` must be false: a response is charged when it ends, and one in the background ends unseen.",
    "background",
  );
}

/** Fields by which routers such as OpenRouter and LiteLLM take another model than `model` says. */
const modelChoices = ["models", "fallbacks", "preset"];

function refuseOtherModels(body: JsonObject): void {
  for (const field of modelChoices) {
    if (body[field] == null) continue;
    throw invalidRequest(
      `\`${field}\` would let the provider choose another model than \`model\`; leave it out.`,
      field,
    );
  }
}

/** What the answer is asked to be beside text and speech, such as a picture, as JSON; null for nothing. */
function otherModality({ modalities = null }: JsonObject): string | null {
  if (modalities === null) return null;
  const asked = Array.isArray(modalities) ? modalities : [modalities];
  const other = asked.find((modality) => modality !== "text" && modality !== "audio");
  return other === undefined ? null : JSON.stringify(other);
}

interface AskedTier {
  readonly field: TierField;
  readonly name: string;
}

/** Two such choices at once have no price. */
function askedTier(body: JsonObject): AskedTier | null {
  let asked: AskedTier | null = null;
  for (const field of tierFields) {
    const name = body[field] ?? null;
    if (name === null) continue;
    if (typeof name !== "string") throw invalidRequest(`\`${field}\` must be a string.`, field);
    if (isUsualTier(name)) continue;
    if (asked !== null) {
      throw invalidRequest(
        `\`${field}\` and \`${asked.field}\` have no common price; send one of them.`,
        field,
      );
    }
    asked = { field, name };
  }
  return asked;
}

/** The calls to hold for, those that are made in any case, and whether a provider gets to see any of the tools. */
function callsOf(
  tools: readonly HostedTool[],
  prices: Prices,
): { most: ToolCalls; least: ToolCalls; isReached: boolean } {
  const most: { [Name in HostedToolName]?: number } = {};
  const least: { [Name in HostedToolName]?: number } = {};
  let isReached = false;
  for (const { path, type, name, maxUses, runs } of tools) {
    if (runs === null ? !prices.demandTool(path, type, name) : !prices.hasSpeakers) continue;
    isReached = true;
    if (name === null) continue;
    most[name] = Math.min((most[name] ?? 0) + heldCalls(maxUses), mostCallsHeld);
    // A search that is asked for beside the tools is made once, whatever the model thinks of it.
    if (path === "web_search_options") least[name] = 1;
  }
  return { most, least, isReached };
}

/** Looks for prices wherever the request may go. */
class Prices {
  readonly #destination: Destination;
  readonly #deployments: readonly DeploymentSettings[];

  constructor(destination: Destination) {
    this.#destination = destination;
    const { configured, model, scope } = destination;
    this.#deployments = configured.catalog
      .deploymentsOf(model)
      .filter((deployment) => inScope(scope, deployment));
  }

  demand(field: string, name: string, find: (price: Price) => unknown): void {
    if (this.#have(this.#deployments, find)) return;
    const { id } = this.#destination.model;
    throw invalidRequest(
      `\`${field}\` costs extra, and ${id} has no price for it (\`price.${name}\`). Leave it out, or ask the operator for a price.`,
      field,
    );
  }

  /** For what no price can be given here. The value is JSON. */
  refuseUnlessFree(field: string, value: string): void {
    if (this.#have(this.#deployments, () => undefined)) return;
    throw invalidRequest(
      `\`${field}\` asks for ${value}, and it is not known here what that costs; leave it out.`,
      field,
    );
  }

  /** The deployments that speak the client's dialect, and get to see what is left out when a request is translated. */
  get #speakers(): readonly DeploymentSettings[] {
    const { dialect } = this.#destination;
    return this.#deployments.filter(({ dialects }) => isSpoken(dialect, dialects));
  }

  /** Whether a provider may get to see what is left out of a translated request. */
  get hasSpeakers(): boolean {
    return this.#speakers.length > 0;
  }

  /** False where no provider would get to see the field. The hold covers one agent, so there is no price for several. */
  demandAgents(): boolean {
    if (!this.hasSpeakers) return false;
    if (this.#have(this.#speakers, () => undefined)) return true;
    throw invalidRequest(
      `\`${severalAgents}\` lets the model start others, and it is not known here what they will cost; leave it out.`,
      severalAgents,
    );
  }

  /** What to hold for tools that run other models. */
  advisors(tools: readonly HostedTool[]): HeldRound[] {
    const { configured, key } = this.#destination;
    return askedAdvisors(tools, { configured, key, reached: this.#speakers });
  }

  /** False where no provider would get to see the tool. */
  demandTool(path: string, type: string, name: HostedToolName | null): boolean {
    const { model } = this.#destination;
    const reached = this.#speakers;
    if (reached.length === 0) return false;
    if (this.#have(reached, (price) => (name === null ? undefined : price.calls?.[name]))) return true;
    const missing =
      name === null ? "and it is not known here what its calls cost" : priceMissing(model, name);
    throw invalidRequest(
      `\`${path}\` offers ${JSON.stringify(type)}, which the provider runs and bills, ${missing}. Leave it out, or ask the operator for a price.`,
      path,
    );
  }

  /** Where nothing has a price, nothing costs. */
  #have(deployments: readonly DeploymentSettings[], find: (price: Price) => unknown): boolean {
    const { free } = this.#destination.model;
    return deployments.every(({ price }) => (price === null ? free : find(price) !== undefined));
  }
}

function priceMissing(model: ModelSettings, name: HostedToolName): string {
  return `and ${model.id} has no price for it (\`price.${name}\`)`;
}
