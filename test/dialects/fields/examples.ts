import { GatewayError } from "../../../src/base/errors.ts";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import type * as messages from "../../../src/dialects/anthropic-messages/client/fields.ts";
import type * as chat from "../../../src/dialects/openai-chat/client/fields.ts";
import type * as responses from "../../../src/dialects/openai-responses/client/fields.ts";
import { clientDialect, type ProviderDialectName, providerDialect } from "../../../src/dialects/registry.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";

const schema = { type: "object", properties: { a: { type: "string" } } };
const said = [{ role: "user", content: "Hi" }];

const asked: Readonly<Record<BodyDialectName, JsonObject>> = {
  chat: { model: "m", messages: said },
  responses: { model: "m", input: "Hi" },
  messages: { model: "m", max_tokens: 8000, messages: said },
};

/** A non-default value for each field, with the other fields that it needs. */
const examples: {
  readonly chat: Readonly<Record<keyof typeof chat.requestFields, Json>>;
  readonly responses: Readonly<Record<keyof typeof responses.requestFields, Json>>;
  readonly messages: Readonly<Record<keyof typeof messages.requestFields, Json>>;
} = {
  chat: {
    audio: { voice: "alloy", format: "wav" },
    frequency_penalty: 0.5,
    function_call: { name: "f" },
    functions: [{ name: "f", parameters: schema }],
    logit_bias: { "50256": -100 },
    logprobs: true,
    max_completion_tokens: 99,
    max_tokens: 99,
    messages: [{ role: "user", content: "Hello" }],
    metadata: { a: "b" },
    modalities: ["text"],
    model: "m",
    moderation: { model: "omni-moderation-latest" },
    n: 2,
    parallel_tool_calls: false,
    prediction: { type: "content", content: "x" },
    presence_penalty: 0.5,
    prompt_cache_key: "k",
    prompt_cache_options: { mode: "explicit" },
    prompt_cache_retention: "24h",
    reasoning_effort: "low",
    response_format: { type: "json_object" },
    safety_identifier: "s",
    seed: 7,
    service_tier: "auto",
    stop: ["END"],
    store: true,
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0.5,
    tool_choice: "none",
    tools: [{ type: "function", function: { name: "f", parameters: schema } }],
    top_k: 5,
    top_logprobs: 2,
    top_p: 0.5,
    user: "u",
    verbosity: "low",
    web_search_options: {},
  },
  responses: {
    access_programs: {},
    background: true,
    context_management: [{ type: "compaction" }],
    conversation: "conv_1",
    frequency_penalty: 0.5,
    image: {},
    include: ["file_search_call.results"],
    input: "Hello",
    instructions: "Be brief.",
    max_output_tokens: 99,
    max_tool_calls: 2,
    metadata: { a: "b" },
    model: "m",
    moderation: { model: "omni-moderation-latest" },
    parallel_tool_calls: false,
    presence_penalty: 0.5,
    previous_response_id: "resp_1",
    prompt: { id: "pmpt_1" },
    prompt_cache_key: "k",
    prompt_cache_options: { mode: "explicit" },
    prompt_cache_retention: "24h",
    reasoning: { effort: "low" },
    safety_identifier: "s",
    service_tier: "auto",
    store: true,
    stream: true,
    stream_options: { include_obfuscation: false },
    temperature: 0.5,
    text: { verbosity: "low" },
    tool_choice: "none",
    tools: [{ type: "function", name: "f", parameters: schema }],
    top_logprobs: 2,
    top_p: 0.5,
    truncation: "auto",
    user: "u",
  },
  messages: {
    cache_control: { type: "ephemeral" },
    compaction: { type: "summarize" },
    container: { skills: [{ type: "anthropic", skill_id: "pdf" }] },
    context_management: { edits: [] },
    diagnostics: { previous_message_id: "msg_1" },
    fallback_credit_token: "t",
    fallbacks: ["claude-other"],
    inference_geo: "us",
    max_tokens: 99,
    mcp_servers: [{ type: "url", url: "https://example.com", name: "x" }],
    messages: [{ role: "user", content: "Hello" }],
    metadata: { user_id: "u" },
    model: "m",
    output_config: { effort: "low" },
    output_format: { type: "json_schema", schema },
    service_tier: "auto",
    speed: "fast",
    stop_sequences: ["END"],
    stream: true,
    system: "Be brief.",
    temperature: 0.5,
    thinking: { type: "enabled", budget_tokens: 2048 },
    thread: { type: "create" },
    tool_choice: { type: "none" },
    tools: [{ name: "f", input_schema: schema }],
    top_k: 5,
    top_p: 0.5,
  },
};

/** Carried, but without a trace in the provider's request: read elsewhere, or what the provider does anyway. */
export const traceless: ReadonlySet<string> = new Set([
  "chat modalities",
  "chat model",
  "chat stream_options",
  "responses model",
  "responses stream_options",
  "messages model",
]);

/** A tool's field needs a tool. */
export const besides: Readonly<Record<string, readonly string[]>> = {
  "chat function_call": ["functions"],
  "chat parallel_tool_calls": ["tools"],
  "chat tool_choice": ["tools"],
  "responses parallel_tool_calls": ["tools"],
  "responses tool_choice": ["tools"],
  "messages tool_choice": ["tools"],
};

const models: Readonly<Record<string, string>> = {
  chat: "gpt-oss-120b",
  responses: "gpt-5.6",
  messages: "claude-opus-4-6",
};

/** The request as translated for a provider with a different dialect, and the fields reported as dropped. */
export function translated(client: BodyDialectName, toward: ProviderDialectName, fields: JsonObject) {
  const source = {
    dialect: clientDialect(client),
    body: { ...asked[client], ...fields },
    model: "m",
    nowSeconds: 1,
    estimatedInputTokens: 1,
  };
  const target = {
    dialect: providerDialect(toward),
    upstreamModel: models[toward] ?? "model",
    provider: "p",
    isStrict: true,
    maxOutputTokens: 64_000,
    maxTokensField: "max_tokens",
    streamUsage: true,
    capabilities: { reasoning: true, sampling: true },
  } as const;
  const { body, dropped } = translate(source, target);
  return { body, dropped };
}

export function valuesOf(client: BodyDialectName, names: readonly string[]): JsonObject {
  const all: Readonly<Record<string, Json>> = examples[client];
  return Object.fromEntries(names.map((name) => [name, all[name] ?? null]));
}

/** The error, or what became of the request as a text. */
export function refusalOf(client: BodyDialectName, toward: ProviderDialectName, fields: JsonObject) {
  try {
    return JSON.stringify(translated(client, toward, fields));
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}
