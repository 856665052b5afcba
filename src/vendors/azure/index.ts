import { readErrorBody } from "../../dialects/errors/error-body.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import { isLoopback } from "../../wire/local-address.ts";
import { droppedBetas, type SortedBetas, sortBetas, withBetas } from "../claude/headers.ts";
import { type KeyScheme, keySchemes } from "../credentials/credential.ts";
import { overHttp } from "../http/http-provider.ts";
import { type ModelList, openAiModelList } from "../model-list.ts";
import { byApiKey, type ProviderOptions } from "../options.ts";
import type { ErrorResponse, ProviderSettings } from "../provider.ts";
import type { ModelDefaults, OptionProblem, Vendor, VendorDefaults } from "../vendor.ts";
import {
  addressOfResource,
  dateOf,
  isAnthropicEndpoint,
  isModelsEndpoint,
  rootOf,
  settingsIn,
  targetOf,
} from "./address.ts";
import { azureCredentials } from "./credentials.ts";

/** `max_completion_tokens` and `stream_options` exist since this version, Responses since the second one. */
const firstUsageOptionVersion = "2024-09-01";
const firstResponsesVersion = "2025-03-01";

/** OpenAI's own models require `max_completion_tokens`; other makers' models at the same address support only `max_tokens`. */
const otherMakers =
  /^(?:deepseek|mai-ds|grok|llama|meta-|mistral|ministral|codestral|phi|cohere|command|kimi|qwen|jamba|jais|gpt-oss)/i;

const ownModels: ModelList = {
  url: ({ baseUrl }) => `${rootOf(baseUrl)}/openai/deployments`,
  query: "api-version=2022-12-01",
  read: openAiModelList.read,
};

/** Azure OpenAI and Foundry. https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle */
export const azure: Vendor = {
  defaults: {
    dialects: ["chat", "responses"],
    maxTokensField: "max_completion_tokens",
    countTokens: false,
  },
  defaultsFor({ baseUrl, dialects, options }): Partial<VendorDefaults> {
    if (isAnthropicEndpoint(baseUrl)) return { dialects: ["messages"], countTokens: true };
    if (isModelsEndpoint(baseUrl)) return { dialects: ["chat"], maxTokensField: "max_tokens" };
    const date = dateOf(options.api_version);
    const isOld = date !== null && date < firstUsageOptionVersion;
    return {
      ...(date !== null && date < firstResponsesVersion ? { dialects: ["chat"] } : {}),
      ...(isOld ? { maxTokensField: "max_tokens", streamUsage: false } : {}),
      countTokens: dialects?.includes("messages") === true,
    };
  },
  modelDefaults: (model, { dialects }) => ({
    ...(otherMakers.test(model) ? { maxTokensField: "max_tokens" } : {}),
    ...endpointDefaults(model, dialects),
  }),
  modelTraits(model) {
    if (!otherMakers.test(model)) return {};
    return isDeepSeek(model) ? { isStrict: false, quirks: ["reasoning_back"] } : { isStrict: false };
  },
  keys: "required",
  genAiName: () => "azure.ai.openai",
  options: [
    ...(["auth", "quirks", "resource", "api_version", "authority"] as const),
    ...(["tenant_id", "client_id", "client_secret", "credentials"] as const),
  ],
  authentication: [
    byApiKey,
    { needs: ["tenant_id", "client_id", "client_secret"], mayHave: ["authority"] },
    { needs: ["credentials"], mayHave: ["client_id", "tenant_id", "authority"] },
  ],
  credentialKeywords: ["managed_identity", "workload_identity"],
  checkOptions: checkAzureOptions,
  strictDialects: ["chat", "responses", "messages"],
  sellsBatches: true,
  fieldsOf: ["OpenAI", "Azure", "Anthropic"],
  searchesIn: ["responses", "messages"],
  compactsResponses: true,
  meteredFormats: () => ["openai"],
  droppedHeaders: (dialect, headers) => (dialect === "messages" ? droppedBetas(foundryBetas(headers)) : []),
  baseUrl: {
    default: null,
    derive: addressOfResource,
    settingsIn,
    example: "https://my-resource.openai.azure.com/openai/v1",
    alternative: "resource",
    pathWarning: (path) =>
      rootOf(path) === path && path !== "/"
        ? "must end in /openai/v1, /openai, /anthropic or /models, as Azure's URLs do"
        : null,
  },
  // Deployments have names of their own, and only this version lists them.
  modelLists: () => [ownModels],
  create: overHttp((settings, { tokens }) => ({
    baseUrl: rootOf(settings.baseUrl),
    credential: keySchemeFor(settings),
    credentials: azureCredentials(settings, tokens),
    advise: adviseOnAzure,
    adaptHeaders: (headers, { dialect }) =>
      dialect === "messages" ? withBetas(headers, foundryBetas(headers)) : headers,
    target: (prepared) => targetOf(prepared, settings.baseUrl, settings.options.api_version),
  })),
};

/** On a resource with both endpoints, Claude uses its own and all other models use OpenAI's. */
function endpointDefaults(
  model: string,
  configuredDialects: ProviderSettings["dialects"],
): Partial<ModelDefaults> {
  const isClaude = model.startsWith("claude-");
  const dialects = configuredDialects.filter((dialect) => (dialect === "messages") === isClaude);
  // DeepSeek answers 400 to an effort in responses, and wants its reasoning back, which only chat has a place for.
  const usedDialects = isDeepSeek(model) && dialects.includes("chat") ? (["chat"] as const) : dialects;
  return usedDialects.length === 0 ? {} : { dialects: usedDialects };
}

function isDeepSeek(model: string): boolean {
  return /deepseek|mai-ds/i.test(model);
}

/** Claude on Foundry returns 400 for some betas. */
function foundryBetas(headers: ForwardedHeaders): SortedBetas {
  return sortBetas(headers, /^(?!compact-|fast-mode-|fine-grained-tool-streaming-)./);
}

/** Claude takes its key under another name than OpenAI's models do. A provider of both is sent both. */
function keySchemeFor({ dialects, options }: ProviderSettings): KeyScheme {
  if (options.auth !== undefined) return keySchemes[options.auth];
  if (!dialects.includes("messages")) return keySchemes["api-key"];
  if (dialects.length === 1) return keySchemes["x-api-key"];
  return (key) => ({ ...keySchemes["api-key"](key), ...keySchemes["x-api-key"](key) });
}

function checkAzureOptions({ authority, credentials }: ProviderOptions): OptionProblem[] {
  const problems: OptionProblem[] = [];
  if (authority?.startsWith("http:") && !isLoopback(authority)) {
    problems.push({ option: "authority", message: "must be https, because a secret is sent there" });
  }
  if (credentials !== undefined && !/^(managed|workload)_identity$/.test(credentials)) {
    const message = 'must be "managed_identity" or "workload_identity"';
    problems.push({ option: "credentials", message });
  }
  return problems;
}

/** Advice for an operator if Azure rejects a small request. */
function adviseOnAzure({ head, text }: ErrorResponse, model: string): string | null {
  const { code, message } = readErrorBody(head.status, head.get("content-type"), text);
  if (code === "DeploymentNotFound") {
    return `this deployment name does not exist in the resource: ${JSON.stringify(model)}; check upstream_model, or wait a few minutes if it is new`;
  }
  switch (head.status) {
    case 401:
      return /principal|lacks/i.test(message)
        ? 'the identity lacks the role "Cognitive Services OpenAI User" on the resource'
        : "Azure rejects the credential for this resource; check api_key (or the Entra settings) and resource";
    case 403:
      return "the resource allows only some networks or identities; check its network settings and roles";
    case 404:
      return "this URL does not exist; check resource or base_url, and api_version";
    default:
      return null;
  }
}
