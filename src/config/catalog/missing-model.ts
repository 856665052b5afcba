import { isObject } from "../../base/json.ts";
import { matchesModel } from "../../base/models/model-pattern.ts";
import type { ProviderConfig } from "../schema.ts";
import { KnownModels } from "./known-model.ts";
import { shippedCatalog } from "./shipped.ts";
import { catalogAt, catalogVendors } from "./vendors.ts";

/** The providers of a configuration, and which of them have a usable key. */
export interface ConfiguredProviders {
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly usable: ReadonlySet<string>;
}

/** The vendors whose models have names of their own. Others sell what these make. */
const names: readonly (readonly [string, RegExp])[] = [
  ["openai", /^(?:gpt-|o\d|chatgpt-|text-embedding-3|dall-e-|whisper-|tts-|omni-moderation-|codex-)/],
  ["anthropic", /^claude-/],
  ["gemini", /^gemini-/],
  ["deepseek", /^deepseek-/],
  ["mistral", /^(?:mistral|ministral|magistral|codestral|devstral|pixtral)-/],
  ["xai", /^grok-/],
  ["cohere", /^(?:command-|embed-|rerank-(?:v|english|multi))/],
  ["voyage", /^(?:voyage-|rerank-\d)/],
];

/** Advice on how to serve a model that is not served now. */
export function missingModelAdvice(id: string, { providers, usable }: ConfiguredProviders): string {
  const { vendor, model } = vendorOf(id);
  const name = providerOf(id, vendor, providers);
  if (name !== null && !usable.has(name)) return keyMissing(name, providers[name]);
  const isKnown = vendor !== null && new KnownModels(vendor).find(model)?.by === "id";
  if (vendor !== null && name === null) return providerMissing(vendor, model, isKnown);
  if (name !== null && isKnown)
    return `The catalog has its price: add "${model}" to \`models\` of [providers.${name}]`;
  const provider = name === null ? "its provider" : `provider = "${name}"`;
  return `If ${name ?? "a provider"} offers it, add [[models]] with id = "${id}", ${provider} and its price; ${discover(name)}`;
}

/** Without a configuration file the variable is enough. */
function providerMissing(vendor: string, model: string, isKnown: boolean): string {
  const { title = vendor, kind, account, keys: [variable = ""] = [] } = catalogVendors[vendor] ?? {};
  const baseUrl = account?.baseUrl.replace("ACCOUNT", account.variable) ?? catalogVendors[vendor]?.baseUrl;
  const address = baseUrl == null ? "" : `, base_url = "${baseUrl}", catalog = "${vendor}"`;
  const table = `[providers.${vendor}] with kind = "${kind}"${address}, api_key = "env:${variable}"`;
  const what = `It is a model of ${title}. If no provider has that vendor, set ${variable}, and add to a configuration file ${table}`;
  return isKnown
    ? `${what} and models = ["${model}"]`
    : `${what}; then add [[models]] with id = "${model}", its provider and its price; ${discover(null)}`;
}

function discover(provider: string | null): string {
  const command = `sluice models discover${provider === null ? "" : ` ${provider}`}`;
  return `\`${command} --write\` adds the models whose price is known`;
}

function vendorOf(id: string): { readonly vendor: string | null; readonly model: string } {
  const [, prefix = "", rest = ""] = /^([a-z0-9_-]+)\/(.+)$/.exec(id) ?? [];
  if (Object.hasOwn(catalogVendors, prefix)) return { vendor: prefix, model: rest };
  const named = names.find(([, pattern]) => pattern.test(id))?.[0];
  return { vendor: named ?? listingVendors().get(id) ?? null, model: id };
}

/** The first vendor that lists each id. Read once, because any client can ask for a model that is not there. */
let listing: ReadonlyMap<string, string> | null = null;

function listingVendors(): ReadonlyMap<string, string> {
  listing ??= new Map(
    Object.keys(catalogVendors)
      .toReversed()
      .flatMap((vendor) => (shippedCatalog(vendor) ?? []).map(({ id }) => [id, vendor] as const)),
  );
  return listing;
}

/** A provider that names the model in its patterns, else one with the vendor's catalog. Null if there is none. */
function providerOf(
  id: string,
  vendor: string | null,
  providers: Readonly<Record<string, ProviderConfig>>,
): string | null {
  const entries = Object.entries(providers).filter(([, provider]) => isObject(provider));
  const isNamed = ({ models }: ProviderConfig) =>
    Array.isArray(models) && models.some((pattern) => pattern !== "*" && matchesModel(pattern, id));
  const sells = ({ kind, catalog, base_url: address }: ProviderConfig) =>
    (catalog ?? (kind === "openai-compatible" ? catalogAt(address ?? "") : kind)) === vendor;
  const found =
    entries.find(([, provider]) => isNamed(provider)) ?? entries.find(([, provider]) => sells(provider));
  return found?.[0] ?? null;
}

function keyMissing(name: string, provider: ProviderConfig | undefined): string {
  const key = provider?.api_key;
  const variable = typeof key === "string" ? /^env:(\w+)$/.exec(key)?.[1] : undefined;
  const fix = variable === undefined ? "`sluice config check` shows what is missing" : `set ${variable}`;
  return `Provider "${name}" would serve it, but has no usable key; ${fix}`;
}
