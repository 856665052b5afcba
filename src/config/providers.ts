import type { DialectName } from "../base/dialect.ts";
import type { LoadContext } from "./context.ts";
import { defaults } from "./defaults.ts";
import { resolveHeaders } from "./headers.ts";
import type { ConfigFile, ProviderConfig, TimeoutsConfig } from "./schema.ts";
import { readSecret } from "./secrets.ts";
import { milliseconds } from "./server.ts";
import type { ProviderKind, ProviderSettings, Timeouts } from "./settings.ts";

interface KindDefaults {
  readonly baseUrl: string;
  readonly dialects: readonly DialectName[];
  readonly maxTokensField: ProviderSettings["maxTokensField"];
  readonly countTokens: boolean;
  /** The vendor's own service answers nobody without a key; other addresses may. */
  readonly keyNeeded: boolean;
}

const kinds: Readonly<Record<ProviderKind, KindDefaults>> = {
  openai: {
    baseUrl: "https://api.openai.com/v1",
    dialects: ["chat", "responses"],
    maxTokensField: "max_completion_tokens",
    countTokens: false,
    keyNeeded: true,
  },
  anthropic: {
    baseUrl: "https://api.anthropic.com",
    dialects: ["messages"],
    maxTokensField: "max_tokens",
    countTokens: true,
    keyNeeded: true,
  },
  "openai-compatible": {
    baseUrl: "",
    dialects: ["chat"],
    maxTokensField: "max_tokens",
    countTokens: false,
    keyNeeded: false,
  },
  demo: {
    baseUrl: "",
    dialects: ["chat", "responses", "messages"],
    maxTokensField: "max_tokens",
    countTokens: false,
    keyNeeded: false,
  },
};

export interface Providers {
  readonly usable: ReadonlyMap<string, ProviderSettings>;
  /** Every name of the file, usable or not, so that a model may refer to it. */
  readonly named: ReadonlySet<string>;
  /** Why a provider is left out. */
  readonly leftOut: ReadonlyMap<string, string>;
}

export function loadProviders(config: ConfigFile, context: LoadContext): Providers {
  const usable = new Map<string, ProviderSettings>();
  const named = new Set<string>();
  const leftOut = new Map<string, string>();
  if (config.providers === undefined || !isTable(config.providers)) return { usable, named, leftOut };
  for (const [name, provider] of Object.entries(config.providers)) {
    named.add(name);
    if (name === "all")
      context.problems.add(
        "providers.all",
        'another name is needed: a key\'s scope "all" means every provider',
      );
    if (!context.problems.soundAt(`providers.${name}`)) continue;
    const loaded = loadProvider(name, provider, context);
    if (typeof loaded === "string") leftOut.set(name, loaded);
    else usable.set(name, loaded);
  }
  return { usable, named, leftOut };
}

function isTable(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The provider, or the reason why it is left out. */
function loadProvider(
  name: string,
  provider: ProviderConfig,
  context: LoadContext,
): ProviderSettings | string {
  const path = `providers.${name}`;
  const kind = kinds[provider.kind];
  const baseUrl = checkBaseUrl(provider, `${path}.base_url`, context);
  const keys = loadApiKeys(name, provider, context);
  const { headers, unset } = resolveHeaders(provider.headers, `${path}.headers`, context);
  const reason = typeof keys === "string" ? keys : unset;
  if (reason !== null) return reason;
  return {
    name,
    kind: provider.kind,
    baseUrl: baseUrl.replace(/\/+$/, ""),
    apiKeys: typeof keys === "string" ? [] : keys,
    dialects: provider.dialects ?? kind.dialects,
    headers,
    streamUsage: provider.stream_usage ?? true,
    countTokens: provider.count_tokens ?? kind.countTokens,
    maxTokensField: provider.max_tokens_field ?? kind.maxTokensField,
    maxConcurrent: provider.max_concurrent ?? null,
    timeouts: overrideTimeouts(defaultTimeouts, provider.timeouts),
  };
}

/** The pool of keys, or the reason why the provider cannot be used. Some set out of several is enough. */
function loadApiKeys(name: string, provider: ProviderConfig, context: LoadContext): string[] | string {
  if (provider.kind === "demo") return [];
  if (provider.api_key === undefined) {
    const needed = kinds[provider.kind].keyNeeded && provider.base_url === undefined;
    return needed ? "it has no api_key" : [];
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
  for (const reason of missing)
    context.warnings.push(`provider "${name}" goes without one of its keys: ${reason}`);
  return keys;
}

function checkBaseUrl(provider: ProviderConfig, path: string, context: LoadContext): string {
  const url = provider.base_url;
  if (url === undefined) {
    if (provider.kind === "openai-compatible") {
      context.problems.add(
        path,
        'missing; kind "openai-compatible" needs the address, such as "http://127.0.0.1:11434/v1"',
      );
    }
    return kinds[provider.kind].baseUrl;
  }
  const parsed = URL.parse(url);
  if (parsed === null) context.problems.add(path, "is not an address");
  else if (parsed.username !== "" || parsed.password !== "") {
    context.problems.add(path, "must not carry a user name or a password; use api_key or headers");
  } else if (parsed.search !== "" || parsed.hash !== "")
    context.problems.add(path, 'must end before any "?" or "#"');
  else if (provider.kind === "anthropic" && /\/v1\/*$/.test(parsed.pathname)) {
    context.warnings.push(`${path} ends in /v1, which kind "anthropic" adds by itself`);
  } else if (provider.kind !== "anthropic" && parsed.pathname === "/") {
    context.warnings.push(`${path} has no path; OpenAI kinds usually end in /v1`);
  }
  return url;
}

const defaultTimeouts: Timeouts = {
  connectMs: milliseconds(defaults.timeouts.connect),
  firstByteMs: milliseconds(defaults.timeouts.firstByte),
  streamFirstByteMs: milliseconds(defaults.timeouts.streamFirstByte),
  gapMs: milliseconds(defaults.timeouts.gap),
  totalMs: milliseconds(defaults.timeouts.total),
};

/** A model's own timeouts count more than its provider's, and those more than the defaults. */
export function overrideTimeouts(base: Timeouts, asked: TimeoutsConfig = {}): Timeouts {
  const or = (seconds: number | undefined, ms: number) =>
    seconds === undefined ? ms : milliseconds(seconds);
  return {
    connectMs: or(asked.connect, base.connectMs),
    firstByteMs: or(asked.first_byte, base.firstByteMs),
    streamFirstByteMs: or(asked.stream_first_byte, base.streamFirstByteMs),
    gapMs: or(asked.gap, base.gapMs),
    totalMs: or(asked.total, base.totalMs),
  };
}
