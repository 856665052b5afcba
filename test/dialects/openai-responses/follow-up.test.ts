import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { clientDialect, providerDialect } from "../../../src/dialects/registry.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import type { Translation } from "../../../src/dialects/translation/translation.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";
import { hearWithSdk, targetOf } from "./support.ts";

function translation(client: BodyDialectName, provider: BodyDialectName, body: JsonObject): Translation {
  const source = {
    dialect: clientDialect(client),
    body: { model: "house-model", ...body },
    model: "house-model",
    nowSeconds: 1_700_000_000,
    estimatedInputTokens: 3,
  };
  const models = {
    chat: { isStrict: false, upstreamModel: "open-model" },
    messages: { isStrict: true, upstreamModel: "claude-sonnet-4-6" },
    responses: { isStrict: true, upstreamModel: "gpt-5.6" },
  } as const;
  return translate(source, targetOf({ dialect: providerDialect(provider), ...models[provider] }));
}

function streamThrough(pair: Translation, frames: readonly JsonObject[]): string {
  const stream = pair.stream();
  let text = "";
  for (const frame of frames) text += stream.push({ event: "", data: JSON.stringify(frame) });
  return text + stream.end() + stream.terminal();
}

const tools = [
  {
    type: "function",
    name: "weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
];

test("Codex on Claude: two parallel calls after thinking, and the follow-up brings everything back", async () => {
  const asked = [{ role: "user", content: "Weather in Bern and Oslo?" }];
  const block = (index: number, content: JsonObject): JsonObject => ({
    type: "content_block_start",
    index,
    content_block: content,
  });
  const delta = (index: number, change: JsonObject): JsonObject => ({
    type: "content_block_delta",
    index,
    delta: change,
  });
  const stop = (index: number): JsonObject => ({ type: "content_block_stop", index });
  const frames: JsonObject[] = [
    { type: "message_start", message: { usage: { input_tokens: 5, output_tokens: 1 } } },
    block(0, { type: "thinking", thinking: "", signature: "" }),
    delta(0, { type: "thinking_delta", thinking: "Two cities." }),
    delta(0, { type: "signature_delta", signature: "sig==" }),
    stop(0),
    block(1, { type: "tool_use", id: "toolu_1", name: "weather", input: {} }),
    delta(1, { type: "input_json_delta", partial_json: '{"city":"Bern"}' }),
    stop(1),
    block(2, { type: "tool_use", id: "toolu_2", name: "weather", input: {} }),
    delta(2, { type: "input_json_delta", partial_json: '{"city":"Oslo"}' }),
    stop(2),
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ];
  const first = translation("responses", "messages", { stream: true, input: asked, tools });
  const { final } = await hearWithSdk(streamThrough(first, frames));
  const replayed: JsonObject[] = JSON.parse(JSON.stringify(final.output));
  const second = translation("responses", "messages", {
    tools,
    input: [
      ...asked,
      ...replayed,
      { type: "function_call_output", call_id: "toolu_2", output: "cold" },
      { type: "function_call_output", call_id: "toolu_1", output: "mild" },
    ],
  });
  expect(second.body["messages"]).toEqual([
    { role: "user", content: [{ type: "text", text: "Weather in Bern and Oslo?" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Two cities.", signature: "sig==" },
        { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Bern" } },
        { type: "tool_use", id: "toolu_2", name: "weather", input: { city: "Oslo" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_2", content: "cold" },
        { type: "tool_result", tool_use_id: "toolu_1", content: "mild" },
      ],
    },
  ]);
});

test("Codex on a chat provider that reasons: its reasoning goes back beside its call (C49)", async () => {
  const asked = [{ role: "user", content: "Weather in Bern?" }];
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const call = { index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } };
  const first = translation("responses", "chat", { stream: true, input: asked, tools });
  const { final } = await hearWithSdk(
    streamThrough(first, [
      chunk({ role: "assistant", reasoning_content: "Hm." }),
      chunk({ tool_calls: [call] }),
      chunk({}, "tool_calls"),
    ]),
  );
  const replayed: JsonObject[] = JSON.parse(JSON.stringify(final.output));
  const answer = { type: "function_call_output", call_id: "call_1", output: "mild" };
  const second = translation("responses", "chat", { tools, input: [...asked, ...replayed, answer] });
  expect(second.body["messages"]).toEqual([
    { role: "user", content: "Weather in Bern?" },
    {
      role: "assistant",
      content: null,
      reasoning_content: "Hm.",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "mild" },
  ]);
});

test("Claude Code on OpenAI: sealed reasoning comes back before its call, bit by bit (C44)", () => {
  const claudeTools = [{ name: "weather", input_schema: { type: "object", properties: {} } }];
  const asked = [{ role: "user", content: "Weather?" }];
  const thinking = { thinking: { type: "adaptive" }, output_config: { effort: "high" }, max_tokens: 500 };
  const first = translation("messages", "responses", { ...thinking, messages: asked, tools: claudeTools });
  const { body } = first.response({
    status: "completed",
    output: [
      {
        id: "rs_1",
        type: "reasoning",
        summary: [
          { type: "summary_text", text: "One." },
          { type: "summary_text", text: "Two." },
        ],
        encrypted_content: "gAAAA==",
      },
      { id: "fc_1", type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" },
    ],
  });
  const second = translation("messages", "responses", {
    ...thinking,
    tools: claudeTools,
    messages: [
      ...asked,
      { role: "assistant", content: body["content"] ?? null },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "mild" }] },
    ],
  });
  expect(second.body["input"]).toMatchObject([
    { role: "user" },
    {
      type: "reasoning",
      summary: [
        { type: "summary_text", text: "One." },
        { type: "summary_text", text: "Two." },
      ],
      encrypted_content: "gAAAA==",
    },
    { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" },
    { type: "function_call_output", call_id: "call_1", output: "mild" },
  ]);
});
