import { isObject } from "../base/json.ts";
import { providerDialect } from "../dialects/registry.ts";
import { byApiKey, type ProviderOptions, type VendorOptionName } from "../vendors/options.ts";
import type { ProviderSettings, Timeouts } from "../vendors/provider.ts";
import { vendorOf } from "../vendors/registry.ts";
import type { ConfiguredSettings, Vendor, VendorDefaults } from "../vendors/vendor.ts";
import { isPrivateAddress } from "../wire/local-address.ts";
import { decode, settingName } from "./decode.ts";
import { milliseconds } from "./duration.ts";
import { resolveHeaders } from "./headers.ts";
import { type LoadContext, validFields } from "./problems.ts";
import { timeoutsSchema } from "./schema/parts.ts";
import { generalProviderSchema } from "./schema/provider.ts";
import { type ConfigFile, type ProviderConfig, providerNamePattern, type TimeoutsConfig } from "./schema.ts";
import { readSecret } from "./secrets.ts";
import { loadOptions } from "./vendor-options.ts";

export interface Providers {
  readonly usable: ReadonlyMap<string, ProviderSettings>;
  /** Every name in the file, usable or not. Models may refer to all of them. */
  readonly named: ReadonlySet<string>;
  /** Providers that cannot be used, with the reason. */
  readonly skipped: ReadonlyMap<string, string>;
}

const providerName = new RegExp(providerNamePattern);

export function loadProviders(config: ConfigFile, context: LoadContext): Providers {
  const usable = new Map<string, ProviderSettings>();
  const named = new Set<string>();
  const skipped = new Map<string, string>();
  if (!isObject(config.providers)) return { usable, named, skipped };
  for (const [name, provider] of Object.entries(config.providers)) {
    named.add(name);
    if (name === "all")
      context.problems.add(
        "providers.all",
        'another name is needed: a key\'s scope "all" means every provider',
      );
    // The schema has not checked the fields of a provider with an invalid name.
    if (!providerName.test(name)) continue;
    const path = `providers.${name}`;
    const { kind, ...rest } = validFields<ProviderConfig>(provider, path, context.problems);
    if (kind === undefined) continue;
    const loaded = loadProvider(name, { kind, ...rest }, context);
    if (!context.problems.isValidAt(path)) continue;
    if (typeof loaded === "string") skipped.set(name, loaded);
    else usable.set(name, loaded);
  }
  return { usable, named, skipped };
}

/** The provider, or the reason why it is skipped. */
function loadProvider(
  name: string,
  provider: ProviderConfig,
  context: LoadContext,
): ProviderSettings | string {
  const path = `providers.${name}`;
  const vendor = vendorOf(provider.kind);
  const { options, unset: unsetOption } = loadOptions(path, provider, vendor, context);
  const configured = { baseUrl: provider.base_url, dialects: provider.dialects, options };
  const vendorDefaults: VendorDefaults = { ...vendor.defaults, ...vendor.defaultsFor?.(configured) };
  const baseUrl = checkBaseUrl(provider, vendor, configured, path, context);
  const keys = loadApiKeys(name, provider, vendor, context);
  const { headers, unset: unsetHeader } = resolveHeaders(provider.headers, `${path}.headers`, context);
  const reason = unsetOption ?? (typeof keys === "string" ? keys : unsetHeader);
  if (reason !== null) return reason;
  const dialects = provider.dialects ?? vendorDefaults.dialects;
  const general = decode(generalProviderSchema, provider, path, context);
  if (provider.count_tokens === true && !dialects.some((dialect) => providerDialect(dialect).countTokens))
    context.warnings.push(
      `${context.places.describe(`${path}.count_tokens`)} has no effect: add "messages" to the provider's dialects`,
    );
  return {
    name,
    kind: provider.kind,
    baseUrl: baseUrl.replace(/\/+$/, ""),
    apiKeys: typeof keys === "string" ? [] : keys,
    options,
    dialects,
    headers,
    quirks: options.quirks ?? vendorDefaults.quirks ?? [],
    ...general,
    streamUsage: provider.stream_usage ?? vendorDefaults.streamUsage ?? general.streamUsage,
    countTokens: provider.count_tokens ?? vendorDefaults.countTokens,
    maxTokensField: provider.max_tokens_field ?? vendorDefaults.maxTokensField,
    timeouts: overrideTimeouts(
      isPrivateAddress(baseUrl) ? localTimeouts : defaultTimeouts,
      provider.timeouts,
    ),
  };
}

/** The pool of keys, or the reason why the provider cannot be used. One key of several is enough. */
function loadApiKeys(
  name: string,
  provider: ProviderConfig,
  vendor: Vendor,
  context: LoadContext,
): string[] | string {
  if (vendor.keys === "none") return [];
  if (provider.api_key === undefined) {
    const ways = (vendor.authentication ?? [byApiKey]).map(({ needs }) => needs);
    const isOtherWay = ways.some((needs) => needs.every((option) => provider[option] !== undefined));
    const needed = vendor.keys === "required" && provider.base_url === undefined && !isOtherWay;
    return needed ? `it has no ${ways.map(([first]) => first).join(" or ")}` : [];
  }
  const isPool = Array.isArray(provider.api_key);
  const references = [provider.api_key].flat();
  const keys: string[] = [];
  const missing: string[] = [];
  for (const [index, reference] of references.entries()) {
    const secret = readSecret(reference, context);
    if (secret.kind === "value") keys.push(secret.value);
    else if (secret.kind === "unset") missing.push(secret.reason);
    else context.problems.add(`providers.${name}.api_key${isPool ? `[${index}]` : ""}`, secret.message);
  }
  if (keys.length === 0) return missing.join(", ");
  for (const reason of missing) context.warnings.push(`provider "${name}" uses fewer keys: ${reason}`);
  return keys;
}

function checkBaseUrl(
  provider: ProviderConfig,
  vendor: Vendor,
  configured: ConfiguredSettings,
  providerPath: string,
  context: LoadContext,
): string {
  const { baseUrl } = vendor;
  const path = `${providerPath}.base_url`;
  const url = provider.base_url;
  if (url === undefined) {
    const derived = baseUrl.derive?.(configured) ?? baseUrl.default;
    // A setting that is wrong is not missing.
    const isWrong = !context.problems.isValidAt(`${providerPath}.${baseUrl.alternative}`);
    if (derived === null && !isWrong) {
      const alternative = baseUrl.alternative === undefined ? "" : `${baseUrl.alternative}, or `;
      const needs = `kind "${provider.kind}" needs ${alternative}the address, such as "${baseUrl.example}"`;
      context.problems.add(path, `missing; ${needs}`);
    }
    return derived ?? "";
  }
  const parsed = URL.parse(url);
  if (parsed === null) context.problems.add(path, "is not an address");
  else if (parsed.username !== "" || parsed.password !== "") {
    context.problems.add(path, "must not carry a user name or a password; use api_key or headers");
  } else if (parsed.search !== "" || parsed.hash !== "")
    context.problems.add(path, 'must end before any "?" or "#"');
  else if (operationIn(parsed.pathname) !== null) {
    context.problems.add(path, `must end before ${operationIn(parsed.pathname)}, which Sluice adds`);
  } else {
    const at = context.places.describe(path);
    const pathWarning = baseUrl.pathWarning(parsed.pathname);
    if (pathWarning !== null) context.warnings.push(`${at} ${pathWarning}`);
    for (const contradiction of contradictions(vendor, parsed.host, configured.options))
      context.warnings.push(`${at} ${contradiction}`);
  }
  return url;
}

/** The address decides where requests go, but other settings may decide for what they are signed or paid. */
function contradictions(
  { baseUrl, optionDefaults }: Vendor,
  host: string,
  stated: ProviderOptions,
): string[] {
  const configured: ProviderOptions = { ...optionDefaults, ...stated };
  return Object.entries(baseUrl.settingsIn?.(host) ?? {}).flatMap(([name, expected]) => {
    // The cast holds because these are options too.
    const value = configured[name as VendorOptionName];
    if (value === undefined || value === expected) return [];
    return `belongs to ${name} = ${JSON.stringify(expected)}, and ${name} is ${JSON.stringify(value)}; set both to the same, or remove base_url`;
  });
}

/** Documentation often shows the address of an operation, which is easily copied whole. A folder of one's own can have such a name, too. */
function operationIn(path: string): string | null {
  const operation =
    /\/chat\/completions(?=\/*$)|(?<=\/v\d\w*)\/(?:completions|responses|messages|embeddings|rerank|moderations|images\/generations|audio\/\w+)(?=\/*$)/;
  return operation.exec(path)?.[0] ?? null;
}

/** Each timeout with its name in the program. Without a default it is 0: only the request's own timeout applies. */
const timeouts = Object.entries(timeoutsSchema.properties).map(([option, schema]) => ({
  // The casts hold because the timeouts come from the schema.
  option: option as keyof TimeoutsConfig,
  name: settingName(option, schema) as keyof Timeouts,
  usualMs: milliseconds(schema.default ?? 0),
}));

const defaultTimeouts = overrideTimeouts(null);

/**
 * Timeouts of a local model server, which may begin to respond only when it is free and has read the whole prompt, at
 * any speed.
 */
const localTimeouts: Timeouts = { ...defaultTimeouts, streamFirstByteMs: 0 };

/** A model's timeouts take precedence over its provider's, and those over the defaults. */
export function overrideTimeouts(base: Timeouts | null, configured: TimeoutsConfig = {}): Timeouts {
  const limits: Partial<Record<keyof Timeouts, number>> = {};
  for (const { option, name, usualMs } of timeouts) {
    const limit = configured[option];
    limits[name] = limit === undefined ? (base?.[name] ?? usualMs) : milliseconds(limit);
  }
  // As above.
  return limits as Timeouts;
}
