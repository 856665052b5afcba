import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import type { JsonObject } from "../../../src/base/json.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";

/**
 * Every parameter that the official packages' types have, each with a value that is not its default. A package version with a
 * new parameter does not compile until the parameter has a line here. Adding the line means deciding what happens to it.
 */
type Every<Params> = { readonly [Name in keyof Params]-?: NonNullable<Params[Name]> };

const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

export const question = "What does a sluice do?";

const chat: Omit<
  Every<OpenAI.ChatCompletionCreateParamsNonStreaming>,
  "model" | "messages" | "stream" | "stream_options"
> = {
  audio: { format: "wav", voice: "alloy" },
  frequency_penalty: 0.5,
  function_call: "auto",
  functions: [{ name: "get_weather", description: "The weather.", parameters: schema }],
  logit_bias: { "50256": -100 },
  logprobs: true,
  max_completion_tokens: 500,
  max_tokens: 500,
  metadata: { project: "atlas" },
  modalities: ["text"],
  moderation: { model: "omni-moderation-latest" },
  n: 2,
  parallel_tool_calls: false,
  prediction: { type: "content", content: "It holds water back." },
  presence_penalty: 0.5,
  prompt_cache_key: "cache-key",
  prompt_cache_options: { mode: "explicit", ttl: "30m" },
  prompt_cache_retention: "24h",
  reasoning_effort: "high",
  response_format: { type: "json_schema", json_schema: { name: "place", schema, strict: true } },
  safety_identifier: "user-hash",
  seed: 7,
  service_tier: "priority",
  stop: ["END"],
  store: true,
  temperature: 0.2,
  tool_choice: "required",
  tools: [{ type: "function", function: { name: "get_weather", parameters: schema, strict: true } }],
  top_logprobs: 2,
  top_p: 0.9,
  user: "ada",
  verbosity: "low",
  web_search_options: { search_context_size: "low" },
};

const responses: Omit<
  Every<OpenAI.Responses.ResponseCreateParamsNonStreaming>,
  "model" | "input" | "stream" | "stream_options"
> = {
  access_programs: {},
  background: true,
  context_management: [{ type: "compaction", compact_threshold: 100_000 }],
  conversation: "conv_1",
  image: {},
  include: ["reasoning.encrypted_content"],
  instructions: "Be brief.",
  max_output_tokens: 500,
  max_tool_calls: 3,
  metadata: { project: "atlas" },
  moderation: { model: "omni-moderation-latest" },
  parallel_tool_calls: false,
  previous_response_id: "resp_1",
  prompt: { id: "pmpt_1" },
  prompt_cache_key: "cache-key",
  prompt_cache_options: { mode: "explicit", ttl: "30m" },
  prompt_cache_retention: "24h",
  reasoning: { effort: "high", summary: "auto" },
  safety_identifier: "user-hash",
  service_tier: "priority",
  store: true,
  temperature: 0.2,
  text: { format: { type: "json_schema", name: "place", schema, strict: true }, verbosity: "low" },
  tool_choice: "required",
  tools: [{ type: "function", name: "get_weather", parameters: schema, strict: true }],
  top_logprobs: 2,
  top_p: 0.9,
  truncation: "auto",
  user: "ada",
};

const messages: Omit<
  Every<Anthropic.MessageCreateParamsNonStreaming>,
  "model" | "messages" | "max_tokens" | "stream"
> = {
  cache_control: { type: "ephemeral" },
  container: "container_1",
  diagnostics: {} as Anthropic.DiagnosticsParam,
  inference_geo: "eu",
  metadata: { user_id: "ada" },
  output_config: { effort: "high", format: { type: "json_schema", schema } },
  service_tier: "standard_only",
  speed: "fast",
  stop_sequences: ["END"],
  system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
  thinking: { type: "adaptive", display: "summarized" },
  tool_choice: { type: "any", disable_parallel_tool_use: true },
  tools: [{ name: "get_weather", input_schema: { ...schema, type: "object" } }],
  user_profile_id: "profile_1",
  workspace_id: "workspace_1",
};

/** The shortest request of each dialect. */
export const plainRequests: Readonly<Record<BodyDialectName, JsonObject>> = {
  chat: { messages: [{ role: "user", content: question }] },
  responses: { input: question },
  messages: { max_tokens: 500, messages: [{ role: "user", content: question }] },
};

/** Parameters that mean nothing, or are refused, without another. */
const together: Readonly<Record<string, readonly string[]>> = {
  function_call: ["functions"],
  parallel_tool_calls: ["tools"],
  tool_choice: ["tools"],
  top_logprobs: ["logprobs"],
};

const parameters: Readonly<Record<BodyDialectName, JsonObject>> = {
  chat: chat as unknown as JsonObject,
  responses: responses as unknown as JsonObject,
  messages: messages as unknown as JsonObject,
};

export interface Case {
  readonly name: string;
  /** The request without the parameter, and with it. */
  readonly without: JsonObject;
  readonly with: JsonObject;
}

export function casesOf(dialect: BodyDialectName): Case[] {
  const all = parameters[dialect];
  return Object.entries(all).map(([name, value]) => {
    const needed = (together[name] ?? []).filter((other) => other in all).map((other) => [other, all[other]]);
    const without = { ...plainRequests[dialect], ...Object.fromEntries(needed) };
    return { name, without, with: { ...without, [name]: value } as JsonObject };
  });
}
