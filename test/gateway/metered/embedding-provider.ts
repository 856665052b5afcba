import type { Json, JsonObject } from "../../../src/base/json.ts";
import { type Answer, json, openAiError } from "../../support/answers.ts";
import type { SeenRequest } from "../../support/provider.ts";

export const embeddingModel = (id: string, provider: string, upstream: string, price = "{ input = 1.0 }") => `
[[models]]
id = "${id}"
provider = "${provider}"
upstream_model = "${upstream}"
serves = ["embeddings"]
context_window = 8192
price = ${price}
`;

/** A model on each kind of provider; `PROVIDER_URL` stands for where all of them are. */
export const embeddingModels = `
[providers.google]
kind = "gemini"
base_url = "PROVIDER_URL"
api_key = "env:TEST_GEMINI_KEY"

[providers.vertex]
kind = "vertex"
base_url = "PROVIDER_URL"
api_key = "env:TEST_GEMINI_KEY"

[providers.bedrock]
kind = "bedrock"
region = "eu-canary-1"
base_url = "PROVIDER_URL"
api_key = "env:TEST_BEDROCK_KEY"

[providers.voyage]
kind = "openai-compatible"
base_url = "PROVIDER_URL/voyage/v1"
quirks = ["output_dimension", "no_float"]

[providers.cohere]
kind = "openai-compatible"
base_url = "PROVIDER_URL/cohere/v2"
quirks = ["cohere_embed"]

[providers.azure]
kind = "azure"
base_url = "PROVIDER_URL/openai"
api_version = "2024-10-21"
api_key = "env:TEST_OPENAI_KEY"
auth = "bearer"

${embeddingModel("embed", "openai", "text-embedding-upstream")}
${embeddingModel("embed-azure", "azure", "my-deployment")}
${embeddingModel("embed-local", "local", "local-upstream")}
${embeddingModel("embed-gemini", "google", "gemini-embedding-001")}
${embeddingModel("embed-vertex", "vertex", "text-embedding-005")}
${embeddingModel("embed-vertex-one", "vertex", "gemini-embedding-001")}
${embeddingModel("embed-vertex-content", "vertex", "gemini-embedding-2")}
${embeddingModel("embed-titan", "bedrock", "amazon.titan-embed-text-v2:0")}
${embeddingModel("embed-bedrock-cohere", "bedrock", "cohere.embed-english-v3")}
${embeddingModel("embed-voyage", "voyage", "voyage-upstream")}
${embeddingModel("embed-cohere", "cohere", "embed-v4.0")}
`;

/** The kinds of providers, and the model on each. */
export const embeddingKinds = [
  ["OpenAI", "embed"],
  ["Azure", "embed-azure"],
  ["a compatible server", "embed-local"],
  ["Gemini", "embed-gemini"],
  ["Vertex", "embed-vertex"],
  ["Vertex with one text at a time", "embed-vertex-one"],
  ["Vertex by content", "embed-vertex-content"],
  ["Titan", "embed-titan"],
  ["Cohere on Bedrock", "embed-bedrock-cohere"],
  ["Voyage", "embed-voyage"],
  ["Cohere", "embed-cohere"],
] as const;

/** The vector of a text, which says which text it was. */
export function vectorOf(text: string): number[] {
  return [text.length, text.charCodeAt(0) || 0, 0.5];
}

export function base64Of(vector: readonly number[]): string {
  return Buffer.from(new Float32Array(vector).buffer).toString("base64");
}

/** One token for each word. */
export function tokensOf(texts: readonly string[]): number {
  return texts.join(" ").split(" ").length;
}

/** What each kind of provider answers to a request for embeddings, by the address that it was asked at. */
export function embeddingAnswer({ path: target, body, headers }: SeenRequest): Answer {
  const [path = ""] = target.split("?");
  if (path.endsWith(":batchEmbedContents")) return geminiResponse(body);
  if (path.endsWith(":predict")) return vertexResponse(body);
  if (path.endsWith(":embedContent")) return contentResponse(body);
  if (path.includes("titan")) return titanResponse(body);
  if (path.includes("cohere.")) return bedrockCohereResponse(body);
  if (path.endsWith("/v2/embed")) return cohereResponse(body);
  if (path.endsWith("/embeddings")) return openAiResponse(body, headers["authorization"] ?? "");
  return openAiError(404, `no such address: ${path}`);
}

function openAiResponse({ input, encoding_format: format, model }: JsonObject, key: string): Answer {
  const inputs = inputsIn(input);
  const isOpenAi = key.includes("openai");
  if (!isOpenAi && format === "base64") return openAiError(400, "no base64 here");
  if (model === "voyage-upstream" && format !== undefined)
    return openAiError(400, "encoding_format: base64 or null");
  const data = inputs.map((one, index) => {
    const vector = typeof one === "string" ? vectorOf(one) : [one.length, 0, 0.5];
    return { object: "embedding", index, embedding: format === "base64" ? base64Of(vector) : vector };
  });
  const tokens = inputs.reduce(
    (sum, one) => sum + (typeof one === "string" ? tokensOf([one]) : one.length),
    0,
  );
  const usage: JsonObject =
    model === "voyage-upstream" ? { total_tokens: tokens } : { prompt_tokens: tokens, total_tokens: tokens };
  return json({ object: "list", data, model: "upstream", usage });
}

function inputsIn(input: Json | undefined): (string | number[])[] {
  if (!Array.isArray(input)) return [input as string];
  return typeof input[0] === "number" ? [input as number[]] : (input as (string | number[])[]);
}

function geminiResponse({ requests }: JsonObject): Answer {
  const texts = (requests as { content: { parts: { text: string }[] } }[]).map(
    ({ content }) => content.parts[0]?.text ?? "",
  );
  return json({ embeddings: texts.map((text) => ({ values: vectorOf(text) })) });
}

function vertexResponse({ instances }: JsonObject): Answer {
  const texts = (instances as { content: string }[]).map(({ content }) => content);
  return json({
    predictions: texts.map((text) => ({
      embeddings: { values: vectorOf(text), statistics: { token_count: tokensOf([text]), truncated: false } },
    })),
  });
}

function contentResponse({ content }: JsonObject): Answer {
  const { parts } = content as { parts: { text: string }[] };
  const text = parts[0]?.text ?? "";
  return json({
    embedding: { values: vectorOf(text) },
    usageMetadata: { promptTokenCount: tokensOf([text]) },
  });
}

function titanResponse({ inputText }: JsonObject): Answer {
  const text = inputText as string;
  if (text === "refused") return json({ message: "too long" }, { status: 400 });
  if (text === "nonsense") return json({ inputTextTokenCount: 1 });
  return json({ embedding: vectorOf(text), inputTextTokenCount: tokensOf([text]) });
}

function bedrockCohereResponse({ texts }: JsonObject): Answer {
  const all = texts as string[];
  return json(
    { embeddings: { float: all.map(vectorOf) }, response_type: "embeddings_by_type" },
    { headers: { "x-amzn-bedrock-input-token-count": String(tokensOf(all)) } },
  );
}

function cohereResponse({ texts }: JsonObject): Answer {
  const all = texts as string[];
  return json({
    id: "1",
    embeddings: { float: all.map(vectorOf) },
    meta: { billed_units: { input_tokens: tokensOf(all) } },
  });
}
