import { isObject, type JsonObject } from "../../base/json.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import type { MemberChanges } from "../../dialects/json/patch.ts";
import { atAnthropicOnly, withoutFields } from "../claude/cloud-fields.ts";
import { conversationChanges } from "../claude/conversation.ts";
import { anthropicVersion, droppedBetas, type SortedBetas, sortBetas, withBetas } from "../claude/headers.ts";
import { compatibleFormats } from "../compatible/index.ts";
import { googleCredential, googleCredentialKeywords } from "../google/credentials.ts";
import { vertexChanges } from "../google/pass-body.ts";
import { readGoogleError } from "../google/provider-error.ts";
import { safetyFields } from "../google/safety.ts";
import { readGoogleKey } from "../google/service-account.ts";
import { overHttp } from "../http/http-provider.ts";
import type { ModelList, ModelListPage } from "../model-list.ts";
import type { ProviderOptions } from "../options.ts";
import type { ErrorResponse, ProviderSettings } from "../provider.ts";
import type { BodyContext, ModelDefaults, OptionProblem, OptionWarning, Vendor } from "../vendor.ts";
import { defaultLocation, hostOf, projectOf, settingsIn, targetOf } from "./address.ts";

/** Google's Vertex AI: Gemini, Claude, and open models. https://cloud.google.com/vertex-ai/generative-ai/docs */
export const vertex: Vendor = {
  defaults: { dialects: ["gemini", "messages", "chat"], maxTokensField: "max_tokens", countTokens: true },
  modelDefaults: (name) => dialectOf(name),
  keys: "required",
  genAiName: () => "gcp.vertex_ai",
  options: ["project", "location", "credentials", "safety", "anthropic_version"],
  optionDefaults: { location: defaultLocation },
  authentication: [{ needs: ["credentials"] }, { needs: ["api_key"] }],
  credentialKeywords: googleCredentialKeywords,
  checkOptions: checkVertexOptions,
  lint: lintLocation,
  strictDialects: ["gemini", "messages"],
  sellsBatches: true,
  lacksFlex: true,
  fieldsOf: ["Google", "Anthropic"],
  // Unlike Gemini's own API, Vertex has no call ids and no tiers. It has labels, and counts plain requests.
  capabilities: { function_ids: false, service_tier: false, labels: true, bare_token_counts: true },
  meteredFormats: (name) => (name.includes("/") ? compatibleFormats : ["vertex"]),
  requestFields: (options, dialect) => (dialect === "gemini" ? safetyFields(options) : {}),
  bodyChanges: (dialect) =>
    dialect === "messages" ? claudeChanges : dialect === "gemini" ? vertexChanges : null,
  droppedHeaders: (dialect, headers) => (dialect === "messages" ? droppedBetas(vertexBetas(headers)) : []),
  baseUrl: {
    default: `https://${hostOf(defaultLocation)}`,
    derive: ({ options }) => `https://${hostOf(options.location ?? defaultLocation)}`,
    settingsIn,
    example: `https://${hostOf("europe-west1")}`,
    pathWarning: (path) => (path === "/" ? null : 'has a path, which kind "vertex" adds by itself'),
  },
  modelLists: vertexModelLists,
  create: overHttp((settings, { tokens }) => {
    const { credentials, location } = settings.options;
    const project = projectOf(settings);
    return {
      credential: (apiKey) => ({ "x-goog-api-key": apiKey }),
      credentials:
        credentials === undefined ? undefined : [googleCredential(settings.name, credentials, tokens)],
      target: (prepared) => targetOf(prepared, project, location),
      adaptHeaders: (headers, { dialect }) => (dialect === "messages" ? claudeHeaders(headers) : headers),
      readProviderError: readGoogleError,
      advise: (answer, model) => adviseOnVertex(answer, model, settings),
    };
  }),
};

/** Claude by its name, open models by their publisher's, and all others are Google's. */
function dialectOf(name: string): Partial<ModelDefaults> {
  if (name.startsWith("claude-")) return { dialects: ["messages"] };
  return { dialects: [name.includes("/") ? "chat" : "gemini"] };
}

const locationForm =
  /^(?:global|us|eu|(?:africa|asia|australia|europe|me|(?:north|south)america|us)-(?:central|north|south|(?:north|south)?(?:east|west))\d{1,2})$/;

function lintLocation({ location = defaultLocation }: ProviderOptions): readonly OptionWarning[] {
  if (locationForm.test(location)) return [];
  const message = 'is not a Google Cloud location, such as "europe-west1", "eu" or "global"';
  return [{ about: "location", message }];
}

function checkVertexOptions(options: ProviderOptions): OptionProblem[] {
  const { credentials } = options;
  if (credentials === undefined) return [];
  const isWord = googleCredentialKeywords.some((word) => word === credentials);
  const key = isWord ? null : readGoogleKey(credentials);
  if (typeof key === "string") return [{ option: "credentials", message: key }];
  if (projectOf({ options }) !== null) return [];
  return [{ option: "project", message: "missing; it must be the id of the project to bill" }];
}

/** Advice for an operator if Vertex rejects a small request. */
function adviseOnVertex(
  { head, text }: ErrorResponse,
  model: string,
  { options }: Pick<ProviderSettings, "options">,
): string | null {
  const location = options.location ?? defaultLocation;
  switch (head.status) {
    case 401:
      return "Google rejects the credential; check credentials";
    case 403:
      return /SERVICE_DISABLED|has not been used in project/.test(text)
        ? "the Vertex AI API is not enabled in the project; enable it in the console"
        : 'the account is not allowed to use Vertex AI in this project; grant it the role "Vertex AI User"';
    case 404:
      return `the model ${JSON.stringify(model)} is not enabled in ${location}; enable it in the Model Garden, or try another location, such as global`;
    case 429:
      return "the project's quota for this model is used up; request a higher quota, or add a provider in another location";
    default:
      return null;
  }
}

/** Fields of Anthropic's API that Vertex rejects with 400. */
const unknownFields = { ...atAnthropicOnly, cache_control: "dropped", service_tier: "dropped" } as const;

/**
 * Claude's bodies on Vertex: the model is in the target, the version in the body, and a mark on the whole conversation or with
 * a scope is rejected. A system message within the conversation becomes the user's text.
 */
function claudeChanges(
  body: JsonObject,
  { purpose, headers, options }: BodyContext,
  dropped: Set<string>,
): MemberChanges {
  const without = withoutFields(body, unknownFields, dropped);
  return {
    ...without,
    ...(purpose === "generate" ? { model: undefined } : {}),
    ...conversationChanges(body, true),
    anthropic_version: options.anthropic_version ?? anthropicVersion(headers, "vertex-2023-10-16"),
  };
}

function vertexBetas(headers: ForwardedHeaders): SortedBetas {
  return sortBetas(
    headers,
    /^(?:tool-search-tool-2025-10-19|compact-2026-01-12|computer-use-|context-1m-|context-management-|interleaved-thinking-|web-search-)/,
  );
}

/** Vertex expects the version in the body. It supports only some betas, one of them under another name. */
export function claudeHeaders(headers: ForwardedHeaders): ForwardedHeaders {
  const { "anthropic-version": _, ...rest } = headers;
  return withBetas(rest, vertexBetas(headers));
}

/** Publishers whose models are called by their plain names. */
const publishers = ["google", "anthropic"];
const pageSize = "pageSize=300";

/** The Model Garden's lists. With a person's own credential, the project pays for the requests. */
function vertexModelLists(settings: Pick<ProviderSettings, "options">): readonly ModelList[] {
  const project = projectOf(settings);
  const headers = project === null ? {} : { "x-goog-user-project": project };
  return publishers.map((publisher) => ({
    url: ({ baseUrl }) => `${baseUrl}/v1beta1/publishers/${publisher}/models`,
    query: pageSize,
    headers,
    read: readPage,
  }));
}

/** An empty page has no list. */
function readPage({ publisherModels: listed = [], nextPageToken: token }: JsonObject): ModelListPage | null {
  if (!Array.isArray(listed)) return null;
  const models = listed.flatMap((each) => {
    const name = isObject(each) ? each["name"] : null;
    const id = typeof name === "string" ? (name.split("/").at(-1) ?? "") : "";
    return id === "" ? [] : [{ id, contextWindow: null, maxOutputTokens: null, price: null }];
  });
  const hasMore = typeof token === "string" && token !== "";
  return { models, next: hasMore ? `${pageSize}&pageToken=${encodeURIComponent(token)}` : null };
}
