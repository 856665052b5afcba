import { isObject, type Json } from "../../base/json.ts";
import type { HostedToolName } from "../../base/usage/hosted-tools.ts";

/**
 * The effect of a field on a call beyond its tokens at the model's price. `routing`: a different model or host responds
 * than the one that was checked and priced. `template`: instructions and tools that are stored elsewhere. `storage`:
 * data stored for the account, and billed by the hour. `agents`: the model starts others. `tool`: the provider runs
 * something. `data`: the provider reads or writes data of the operator's account.
 */
export type BilledEffect = "routing" | "template" | "storage" | "agents" | "tool" | "data";

/** Vendors and gateways with fields of their own. */
export type FieldVendor =
  | ("OpenAI" | "Azure" | "Anthropic" | "Google" | "Amazon" | "OpenRouter" | "Vercel" | "LiteLLM")
  | ("Together" | "Perplexity" | "xAI" | "Alibaba" | "Baidu" | "Tencent" | "Volcengine" | "Mistral")
  | ("Zhipu" | "Groq" | "Cohere");

export interface BilledField {
  /** The vendor's name for the field. Operators allow it by this name. */
  readonly name: string;
  /** The vendors that have this field. */
  readonly vendors: readonly FieldVendor[];
  readonly effect: BilledEffect;
  /** The tool that it turns on, where there is a price for it. */
  readonly tool?: HostedToolName;
  /** The value that turns it off, if the vendor has a switch within the field. */
  readonly off?: readonly [member: string, value: Json];
  /** A common word, which may be the caller's own in options that no dialect defines. */
  readonly isCommon?: true;
}

const search = { effect: "tool", tool: "web_search" } as const;

/**
 * Every field of a request that affects the cost or who responds, except tiers and audio. It counts at the top level of
 * a body and in `extra_body`, and, unless it is a common word, within options that no dialect defines. Fields that are
 * in no table pass, so a new vendor field belongs here; docs/reference/billable-features.md has the same list.
 */
export const billedFields: readonly BilledField[] = [
  { name: "models", vendors: ["OpenRouter"], effect: "routing", isCommon: true },
  { name: "provider", vendors: ["OpenRouter"], effect: "routing", isCommon: true },
  { name: "route", vendors: ["OpenRouter"], effect: "routing", isCommon: true },
  { name: "preset", vendors: ["OpenRouter"], effect: "routing", isCommon: true },
  { name: "plugins", vendors: ["OpenRouter"], effect: "tool" },
  { name: "provider_options", vendors: ["Vercel"], effect: "routing" },
  { name: "fallbacks", vendors: ["Anthropic", "LiteLLM"], effect: "routing" },
  { name: "context_window_fallbacks", vendors: ["LiteLLM"], effect: "routing" },
  { name: "content_policy_fallbacks", vendors: ["LiteLLM"], effect: "routing" },
  { name: "model_list", vendors: ["LiteLLM"], effect: "routing" },
  { name: "user_config", vendors: ["LiteLLM"], effect: "routing" },
  { name: "router_settings_override", vendors: ["LiteLLM"], effect: "routing" },
  { name: "api_base", vendors: ["LiteLLM"], effect: "routing" },
  { name: "base_url", vendors: ["LiteLLM"], effect: "routing" },
  { name: "custom_llm_provider", vendors: ["LiteLLM"], effect: "routing" },
  { name: "extra_headers", vendors: ["LiteLLM"], effect: "routing" },
  { name: "prompt_id", vendors: ["LiteLLM"], effect: "template" },
  { name: "guardrails", vendors: ["LiteLLM"], effect: "tool", isCommon: true },
  { name: "safety_model", vendors: ["Together"], effect: "routing" },
  { name: "routing_config", vendors: ["Google"], effect: "routing" },
  { name: "model_selection_config", vendors: ["Google"], effect: "routing" },
  { name: "prompt", vendors: ["OpenAI"], effect: "template", isCommon: true },
  // Azure searches an index that the client names, with the identity of the operator's resource.
  { name: "data_sources", vendors: ["Azure"], effect: "data", isCommon: true },
  { name: "multi_agent", vendors: ["OpenAI"], effect: "agents", off: ["enabled", false] },
  { name: "web_search_options", vendors: ["OpenAI", "Perplexity"], ...search },
  { name: "mcp_servers", vendors: ["Anthropic"], effect: "tool", tool: "mcp" },
  { name: "cached_content", vendors: ["Google"], effect: "storage" },
  { name: "search_parameters", vendors: ["xAI"], ...search, off: ["mode", "off"] },
  { name: "enable_search", vendors: ["Alibaba"], ...search },
  { name: "enable_code_interpreter", vendors: ["Alibaba"], effect: "tool", tool: "code_interpreter" },
  { name: "web_search", vendors: ["Baidu"], ...search, off: ["enable", false], isCommon: true },
  { name: "enable_enhancement", vendors: ["Tencent"], ...search },
  { name: "force_search_enhancement", vendors: ["Tencent"], ...search },
  { name: "enable_deep_search", vendors: ["Tencent"], ...search },
  { name: "caching", vendors: ["Volcengine"], effect: "storage", off: ["type", "disabled"], isCommon: true },
  { name: "context_id", vendors: ["Volcengine"], effect: "storage", isCommon: true },
  { name: "agent_id", vendors: ["Mistral"], effect: "template", isCommon: true },
  { name: "assistant_id", vendors: ["Zhipu"], effect: "template", isCommon: true },
  { name: "compound_custom", vendors: ["Groq"], effect: "tool" },
  { name: "connectors", vendors: ["Cohere"], effect: "tool", isCommon: true },
  // Vertex AI writes the output to a bucket that the client names, with the identity of the operator's project.
  { name: "output_uri_prefix", vendors: ["Google"], effect: "data" },
  { name: "model_armor_config", vendors: ["Google"], effect: "tool" },
  { name: "guardrail_config", vendors: ["Amazon"], effect: "tool" },
  { name: "amazon-bedrock-guardrailConfig", vendors: ["Amazon"], effect: "tool" },
];

const byPlainName = new Map(billedFields.map((field) => [plainName(field.name), field]));

/** Google's servers, and those that follow them, take `cachedContent` for `cached_content`. */
function plainName(name: string): string {
  return name.replaceAll(/[_-]/g, "").toLowerCase();
}

/** Null for most names. `isTop`: a member of the body itself. */
export function billedField(name: string, isTop: boolean): BilledField | null {
  const field = byPlainName.get(plainName(name)) ?? null;
  return isTop || field?.isCommon !== true ? field : null;
}

/** Free members of Google's own options. All others count as billed. */
const harmless: ReadonlySet<string> = new Set(
  ["thinking_config", "thought_tag_marker", "safety_settings"].map(plainName),
);

/** The object in a chat request that has options of Google's own. */
export const googleOptions = "google";

/** A member of Google's options, by its path; null if it costs nothing. */
export function googleField(name: string): BilledField | null {
  if (harmless.has(plainName(name))) return null;
  const { effect, ...known } = billedField(name, false) ?? { effect: "tool" };
  return { ...known, name: `${googleOptions}.${name}`, vendors: ["Google"], effect };
}

/** Whether a value of the field requests anything. For tools and agents `{}` does, because they need no settings. */
export function isRequested({ name, effect, off }: BilledField, value: Json | undefined): boolean {
  if (value === undefined || value === null || value === false || value === "" || value === 0) return false;
  // The texts or tokens of a completion, not a template.
  if (name === "prompt" && !isObject(value)) return Array.isArray(value) && value.some(isObject);
  if (Array.isArray(value)) return value.length > 0;
  if (!isObject(value)) return true;
  if (off !== undefined && value[off[0]] === off[1]) return false;
  return effect === "tool" || effect === "agents" || Object.keys(value).length > 0;
}
