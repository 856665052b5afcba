import { type GatewayError, invalidRequest } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { Quantities } from "../../base/money/rates.ts";
import { type HostedToolName, toolsWithoutFee } from "../../base/usage/hosted-tools.ts";
import type { KeyAccess } from "../../catalog/catalog.ts";
import { hasSearchPrice, hasSizedFee, priceAt, searchPriceOf } from "../../catalog/price.ts";
import type { DeploymentSettings, ModelSettings, Price } from "../../config/settings.ts";
import type { FieldNames } from "../../dialects/contract/field-decisions.ts";
import { objectOf } from "../../dialects/json/json-fields.ts";
import type { FieldVendor } from "../../dialects/names/billed-fields.ts";
import { type ClientDialectName, clientDialect, type ProviderDialectName } from "../../dialects/registry.ts";
import type { KeyRecord } from "../../store/store.ts";
import { vendorOf } from "../../vendors/registry.ts";
import type { ActiveConfig } from "../active-config.ts";
import { mayActOn, speakersAmong } from "../references/foreign-fields.ts";
import type { ClientRequest } from "../request/client-request.ts";

/** The possible destinations of a request: deployments of the model and its fallbacks, within the scope. */
export interface Destination {
  readonly dialect: ClientDialectName;
  readonly configured: ActiveConfig;
  /** The moment whose prices apply. */
  readonly pricedAtMs: number;
  readonly model: ModelSettings;
  readonly scope: string;
  readonly key: KeyAccess & Pick<KeyRecord, "mode" | "tools">;
  /** Metered requests pass in formats of their own, so any field counts. */
  readonly isMetered?: boolean;
  /** It may be charged by the tiers of batches. */
  readonly isDeferred?: boolean;
}

/** The permission of a token-budget key for tools that cost money. */
export const keyPermission = "`--tools` on this key";

/** Whether searches at a deployment have a price, cost nothing, or may cost what they will. */
export function isSearchPriced(
  { price }: Pick<DeploymentSettings, "price">,
  { free, allow }: Pick<ModelSettings, "free" | "allow">,
): boolean {
  return (price === null ? free : hasSearchPrice(price)) || allow.includes("tools.web_search");
}

/** Whether a vendor has a web search among its tools in this dialect. */
export function searchesIn(kind: string, dialect: ProviderDialectName): boolean {
  return vendorOf(kind).searchesIn?.includes(dialect) === true;
}

/** Looks for prices wherever a request may go. */
export class DestinationPrices {
  readonly destination: Destination;
  /** The deployments that speak the client's dialect, and get to see what is left out when a request is translated. */
  readonly speakers: readonly DeploymentSettings[];
  readonly #deployments: readonly DeploymentSettings[];

  constructor(destination: Destination) {
    this.destination = destination;
    const { configured, model, scope, dialect, pricedAtMs } = destination;
    this.#deployments = configured.catalog.reached(model, scope).map((deployment) => {
      const price = priceAt(deployment.price, pricedAtMs);
      return price === deployment.price ? deployment : { ...deployment, price };
    });
    this.speakers = speakersAmong(this.#deployments, dialect);
  }

  /** The client's names for fields. */
  get names(): FieldNames {
    return clientDialect(this.destination.dialect).fieldNames;
  }

  /** Whether a provider that gets the unchanged request may act on these vendors' fields. */
  actOn(vendors: readonly FieldVendor[]): boolean {
    const { configured, isMetered = false } = this.destination;
    return isMetered || this.speakers.some((deployment) => mayActOn(configured, deployment, vendors));
  }

  /** Whether the operator lets the field pass, at any cost. */
  allows(name: string): boolean {
    return this.destination.model.allow.includes(name);
  }

  /**
   * Whether calls of the tool cost nothing, or have a price at all deployments that speak the client's dialect. A token budget
   * does not pay for them, so that its key needs the operator's permission.
   */
  coverCalls(name: HostedToolName | null): boolean {
    return this.#haveCallPrice(name) && (this.#mayCostMoney || !this.#costMoney(name));
  }

  /** Whether a web search is sent to deployments of other dialects, translated: to those where its calls have a price. */
  get translateSearch(): boolean {
    const { model, configured } = this.destination;
    const kindOf = (name: string) => configured.settings.providers.get(name)?.kind ?? "";
    const searching = this.#deployments.filter((deployment) => {
      if (this.speakers.includes(deployment) || !isSearchPriced(deployment, model)) return false;
      return deployment.dialects.some((dialect) => searchesIn(kindOf(deployment.provider), dialect));
    });
    if (this.#mayCostMoney) return searching.length > 0;
    return searching.length > 0 && searching.every(({ price }) => callPrice(price, "web_search") === 0);
  }

  /** Whether the tool is rejected only because the key lacks permission. */
  lackPermission(name: HostedToolName | null): boolean {
    return !this.coverCalls(name) && this.#haveCallPrice(name);
  }

  get #mayCostMoney(): boolean {
    const { mode, tools } = this.destination.key;
    return mode === "credit" || tools;
  }

  #haveCallPrice(name: HostedToolName | null): boolean {
    if (toolsWithoutFee.has(name)) return true;
    return this.#have(this.speakers, (price) => {
      if (name === "web_search") return hasSearchPrice(price) || undefined;
      return name === null ? undefined : price.extras?.[name];
    });
  }

  #costMoney(name: HostedToolName | null): boolean {
    return name !== null && this.speakers.some(({ price }) => callPrice(price, name) > 0);
  }

  demand(field: string, name: string, find: (price: Price) => unknown): void {
    if (this.#have(this.#deployments, find)) return;
    throw invalidRequest(
      `\`${field}\` has no price for model "${this.destination.model.id}". Remove it, or ask the operator to set \`price.${name}\`.`,
      field,
    );
  }

  /** The client's field that asks for a kind of output. */
  outputField(asked: JsonObject, modality: Json): string {
    const { outputField, fieldNames } = clientDialect(this.destination.dialect);
    return outputField?.(asked, modality) ?? fieldNames.modalities;
  }

  /** Throws for a kind of output without a price. */
  demandModality(field: string, modality: Json): void {
    const find = ({ extras }: Price) => (modality === "image" ? extras?.["image_output"] : undefined);
    if (this.allows("modalities") || this.#have(this.#deployments, find)) return;
    throw this.rejection(field, "modalities", `includes ${JSON.stringify(modality)}`, "has no price for");
  }

  /** The error for a tool that has a price, which a token budget does not pay. */
  permissionError(path: string, why: string): GatewayError {
    return invalidRequest(
      `\`${path}\` ${why}, which costs money, and this token-budget key cannot use such tools. Remove it, or ask the operator to set ${keyPermission}.`,
      path,
    );
  }

  /** The error for a field that needs the operator's permission, by its name. */
  rejection(path: string, name: string, why: string, lack = "does not allow"): GatewayError {
    const { id } = this.destination.model;
    return invalidRequest(
      `\`${path}\` ${why}, which model "${id}" ${lack}. Remove it, or ask the operator to set \`allow = ["${name}"]\`.`,
      path,
    );
  }

  /** Whether all deployments have the price. Without any price, only free models pass. */
  #have(deployments: readonly DeploymentSettings[], find: (price: Price) => unknown): boolean {
    const { free } = this.destination.model;
    return deployments.every(({ price }) => (price === null ? free : find(price) !== undefined));
  }
}

/** What a call of the tool costs; 0 without a price. */
function callPrice(price: Price | null, name: HostedToolName): number {
  if (price === null) return 0;
  return (name === "web_search" ? searchPriceOf(price) : price.extras?.[name]) ?? 0;
}

/** A provider that has a fee for each size takes this one if the request names none. */
const defaultSize = "low";
const sizes: ReadonlySet<unknown> = new Set([defaultSize, "medium", "high"]);

/**
 * The fee of a generation request under the names that prices have for it: one fee, or one for each size of the search that
 * Perplexity's models start with. Throws for a search whose fee is not known.
 */
export function requestFee(
  { truncated, mentions }: Pick<ClientRequest, "truncated" | "mentions">,
  model: ModelSettings,
  price: Price,
): Quantities {
  if (!hasSizedFee(price)) return { requests: 1 };
  const nested = mentions.billed.find(
    ({ name, path }) => name === "web_search_options" && path !== "web_search_options",
  );
  if (nested !== undefined)
    throw invalidRequest(
      `\`${nested.path}\` determines the request's fee. Send \`web_search_options\` instead.`,
      nested.path,
    );
  const options = objectOf(truncated["web_search_options"]) ?? {};
  const { search_context_size: size = null, search_type: type = null } = options;
  if (size !== null && !sizes.has(size))
    throw invalidRequest(
      '`web_search_options.search_context_size` must be "low", "medium" or "high".',
      "web_search_options.search_context_size",
    );
  if (type !== null && type !== "fast")
    throw invalidRequest(
      `\`web_search_options.search_type\` has no price for model "${model.id}". Remove it, or send "fast".`,
      "web_search_options.search_type",
    );
  return { requests: 1, [`requests.${String(size ?? defaultSize)}`]: 1 };
}
