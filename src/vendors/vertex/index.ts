import { leftOutBetas } from "../claude/headers.ts";
import { compatibleFormats } from "../compatible/index.ts";
import { googleCredential, googleCredentialWords } from "../google/credentials.ts";
import { readGoogleRefusal } from "../google/refusal.ts";
import { safetyFields } from "../google/safety.ts";
import { readGoogleKey } from "../google/service-account.ts";
import { overHttp } from "../http/http-provider.ts";
import type { ProviderOptions } from "../options.ts";
import type { ModelDefaults, OptionDoubt, OptionProblem, Vendor } from "../vendor.ts";
import { defaultLocation, hostOf, projectOf, settingsIn, targetOf } from "./address.ts";
import { adviseOnVertex } from "./advice.ts";
import { claudeChanges, claudeHeaders, vertexBetas } from "./claude.ts";

/** Google's Vertex AI: Gemini, Claude, and open models. https://cloud.google.com/vertex-ai/generative-ai/docs */
export const vertex: Vendor = {
  defaults: { dialects: ["gemini", "messages", "chat"], maxTokensField: "max_tokens", countTokens: true },
  modelDefaults: (name) => dialectOf(name),
  keys: "required",
  options: ["project", "location", "credentials", "safety", "anthropic_version"],
  optionDefaults: { location: defaultLocation },
  authentication: [{ needs: ["credentials"] }, { needs: ["api_key"] }],
  credentialWords: googleCredentialWords,
  checkOptions: checkVertexOptions,
  doubtsAbout: doubtsAboutLocation,
  strictDialects: ["gemini", "messages"],
  // Of Gemini's own API, Vertex has neither ids of calls nor tiers; it has labels, and counts plain requests.
  capabilities: { function_ids: false, service_tier: false, labels: true, bare_token_counts: true },
  meteredFormats: (name) => (name.includes("/") ? compatibleFormats : ["vertex"]),
  requestFields: (options, dialect) => (dialect === "gemini" ? safetyFields(options) : {}),
  bodyChanges: (dialect) => (dialect === "messages" ? claudeChanges : null),
  leftOut: (dialect, headers) => (dialect === "messages" ? leftOutBetas(vertexBetas(headers)) : []),
  baseUrl: {
    default: `https://${hostOf(defaultLocation)}`,
    derive: ({ options }) => `https://${hostOf(options.location ?? defaultLocation)}`,
    settingsIn,
    example: `https://${hostOf("europe-west1")}`,
    pathWarning: (path) => (path === "/" ? null : 'has a path, which kind "vertex" adds by itself'),
  },
  create: overHttp((settings, { tokens }) => {
    const { credentials, location } = settings.options;
    const project = projectOf(settings);
    return {
      credential: (apiKey) => ({ "x-goog-api-key": apiKey }),
      credentials:
        credentials === undefined ? undefined : [googleCredential(settings.name, credentials, tokens)],
      target: (prepared) => targetOf(prepared, project, location),
      adaptHeaders: (headers, { dialect }) => (dialect === "messages" ? claudeHeaders(headers) : headers),
      readRefusal: readGoogleRefusal,
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

function doubtsAboutLocation({ location = defaultLocation }: ProviderOptions): readonly OptionDoubt[] {
  if (locationForm.test(location)) return [];
  const message = 'is no name of a location of Google Cloud, such as "europe-west1", "eu" or "global"';
  return [{ about: "location", message }];
}

function checkVertexOptions(options: ProviderOptions): OptionProblem[] {
  const { credentials } = options;
  if (credentials === undefined) return [];
  const isWord = googleCredentialWords.some((word) => word === credentials);
  const key = isWord ? null : readGoogleKey(credentials);
  if (typeof key === "string") return [{ option: "credentials", message: key }];
  if (projectOf({ options }) !== null) return [];
  return [{ option: "project", message: "missing; it must be the id of the project that pays" }];
}
