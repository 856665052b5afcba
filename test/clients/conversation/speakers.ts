import type { ProviderDialectName } from "../../../src/dialects/registry.ts";
import { upstreamKeys } from "../../support/config.ts";
import type { SeenRequest } from "../../support/provider.ts";
import { azureAccount } from "../../vendors/azure/fake-azure.ts";
import { keyFile } from "../../vendors/vertex/fake-vertex.ts";
import { chat } from "./chat.ts";
import { chatAtAzure, claudeAtVertex, cloudCredentials, geminiAtVertex } from "./clouds.ts";
import { converse } from "./converse.ts";
import { addressedAt, complain, type ProviderDialect } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";

/** A provider of the worlds. */
export interface Speaker {
  readonly dialect: ProviderDialectName;
  readonly wire: ProviderDialect;
  /** TOML of the provider; `PROVIDER_URL` stands for its address. */
  readonly settings: string;
  /** A name from which the gateway infers what the model can do, as it does for real models. */
  readonly model: string;
  /** Where the model's name tells nothing. */
  readonly family?: string;
  /** The gateway's own, never the client's. */
  readonly credential: Readonly<Record<string, string>>;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** One for each dialect, and the clouds that speak one of them in their own way. A new provider adds a line here. */
const all = {
  chat: {
    dialect: "chat",
    wire: chat,
    settings: `
kind = "openai-compatible"
base_url = "PROVIDER_URL/v1"
api_key = "env:TEST_OPENAI_KEY"
dialects = ["chat"]`,
    model: "deepseek-v4",
    credential: bearer(upstreamKeys.TEST_OPENAI_KEY),
  },
  responses: {
    dialect: "responses",
    wire: responses,
    settings: `
kind = "openai"
base_url = "PROVIDER_URL/v1"
api_key = "env:TEST_OPENAI_KEY"
dialects = ["responses"]`,
    model: "gpt-5.6",
    credential: bearer(upstreamKeys.TEST_OPENAI_KEY),
  },
  messages: {
    dialect: "messages",
    wire: messages,
    settings: `
kind = "anthropic"
base_url = "PROVIDER_URL"
api_key = "env:TEST_ANTHROPIC_KEY"`,
    model: "claude-sonnet-4-6",
    credential: { "x-api-key": upstreamKeys.TEST_ANTHROPIC_KEY },
  },
  gemini: {
    dialect: "gemini",
    wire: gemini,
    settings: `
kind = "gemini"
base_url = "PROVIDER_URL"
api_key = "env:TEST_GEMINI_KEY"`,
    model: "gemini-3.1-pro-preview",
    credential: { "x-goog-api-key": upstreamKeys.TEST_GEMINI_KEY },
  },
  converse: {
    dialect: "converse",
    wire: converse,
    settings: `
kind = "bedrock"
region = "eu-central-1"
base_url = "PROVIDER_URL"
api_key = "env:TEST_BEDROCK_KEY"`,
    model: "eu.anthropic.claude-sonnet-4-6-20260101-v1:0",
    credential: bearer(upstreamKeys.TEST_BEDROCK_KEY),
  },
  "gemini-at-vertex": {
    dialect: "gemini",
    wire: geminiAtVertex,
    settings: `
kind = "vertex"
base_url = "PROVIDER_URL"
location = "europe-west1"
credentials = "env:TEST_GOOGLE_ACCOUNT"`,
    model: "gemini-3.1-pro-preview",
    credential: cloudCredentials.vertex,
  },
  "messages-at-vertex": {
    dialect: "messages",
    wire: claudeAtVertex,
    settings: `
kind = "vertex"
base_url = "PROVIDER_URL"
location = "europe-west1"
credentials = "env:TEST_GOOGLE_ACCOUNT"`,
    model: "claude-sonnet-4-6@20260101",
    credential: cloudCredentials.vertex,
  },
  "responses-at-azure": {
    dialect: "responses",
    wire: { ...responses, ...addressedAt("/openai/v1/responses") },
    settings: `
kind = "azure"
base_url = "PROVIDER_URL/openai/v1"
api_key = "env:TEST_AZURE_KEY"`,
    model: "our-gpt",
    family: "gpt-5.6",
    credential: cloudCredentials.azure,
  },
  "chat-at-azure": {
    dialect: "chat",
    wire: chatAtAzure,
    settings: `
kind = "azure"
base_url = "PROVIDER_URL/openai"
api_version = "2024-10-21"
tenant_id = "${azureAccount.tenant}"
client_id = "${azureAccount.client}"
client_secret = "env:TEST_AZURE_SECRET"
authority = "PROVIDER_URL"`,
    model: "our deepseek",
    family: "deepseek-v4",
    credential: cloudCredentials.entra,
  },
} as const satisfies Readonly<Record<string, Speaker>>;

export type SpeakerName = keyof typeof all;

export const speakers: Readonly<Record<SpeakerName, Speaker>> = all;

// The cast holds because the type is computed from the same object.
export const speakerNames = Object.keys(all) as readonly SpeakerName[];

/** One for each dialect, for what takes long and is the same on a cloud. */
export const dialectSpeakers = speakerNames.filter((name) => name === all[name].dialect);

/** What the gateway's process has to know of the clouds. */
export function cloudSecrets(url: string): Readonly<Record<string, string>> {
  return {
    TEST_GOOGLE_ACCOUNT: keyFile(`${url}/token`),
    TEST_AZURE_KEY: azureAccount.key,
    TEST_AZURE_SECRET: azureAccount.secret,
  };
}

/** Who is asked at a path. */
export function speakerAt(path: string): Speaker {
  const found = Object.values(speakers).find(({ wire }) => wire.isAskedAt(path));
  if (found === undefined) throw new Error(`nobody speaks at ${path}`);
  return found;
}

/** The provider's own name of the model, and the gateway's own credential. */
export function checkAddress(request: SeenRequest, { wire, model, credential }: Speaker): void {
  const asked = wire.modelAskedFor(request);
  if (asked !== model) complain("no such model:", asked);
  for (const [name, value] of Object.entries(credential)) {
    if (request.headers[name] !== value) complain("a foreign credential");
  }
}
