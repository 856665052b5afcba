import { describe, expect, test } from "bun:test";
import type {
  BetaContentBlockParam,
  MessageCountTokensParams as BetaCountTokensParams,
  MessageCreateParams as BetaMessageCreateParams,
  BetaMessageParam,
  BetaMetadata,
  BetaOutputConfig,
  BetaThinkingConfigParam,
  BetaTool,
} from "@anthropic-ai/sdk/resources/beta/messages";
import type {
  ContentBlockParam,
  MessageCountTokensParams,
  MessageCreateParams,
  MessageParam,
  Metadata,
  OutputConfig,
  ThinkingConfigParam,
  Tool,
} from "@anthropic-ai/sdk/resources/messages";
import type {
  ChatCompletionContentPart,
  ChatCompletionContentPartRefusal,
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type {
  CustomTool,
  FunctionTool,
  ResponseCreateParams,
  ResponseInputContent,
  ResponseInputItem,
  ResponseOutputRefusal,
  ResponseOutputText,
  ResponseTextConfig,
} from "openai/resources/responses/responses";
import type { FunctionDefinition, Reasoning } from "openai/resources/shared";
import { GatewayError } from "../../src/base/errors.ts";
import type { Json, JsonObject } from "../../src/base/json.ts";
import * as messages from "../../src/dialects/anthropic-messages/client/fields.ts";
import * as chat from "../../src/dialects/openai-chat/client/fields.ts";
import * as responses from "../../src/dialects/openai-responses/client/fields.ts";
import {
  type ClientDialectName,
  clientDialect,
  clientDialectNames,
  type ProviderDialectName,
  providerDialect,
} from "../../src/dialects/registry.ts";
import type { FieldDecision, FieldDecisions } from "../../src/dialects/translation/field-decisions.ts";
import { translate } from "../../src/dialects/translation/translate.ts";

/**
 * The compiler holds the tables against the types of the vendors' SDKs: a field that a new version brings is an error
 * here until it has been decided what a translation does with it.
 */
type FieldsOf<Params> = Params extends unknown ? keyof Params & string : never;
/** A type that takes any name would be satisfied by every table. */
type Decided<Params> =
  string extends FieldsOf<Params> ? never : Readonly<Record<FieldsOf<Params>, FieldDecision>>;
type HeaderParam = (typeof messages.headerParams)[number];
type MessagesParams =
  | MessageCreateParams
  | BetaMessageCreateParams
  | MessageCountTokensParams
  | BetaCountTokensParams;

chat.requestFields satisfies Decided<ChatCompletionCreateParams>;
chat.messageFields satisfies Decided<ChatCompletionMessageParam>;
chat.functionFields satisfies Decided<FunctionDefinition>;
responses.requestFields satisfies Decided<ResponseCreateParams>;
responses.reasoningFields satisfies Decided<Reasoning>;
responses.textFields satisfies Decided<ResponseTextConfig>;
responses.functionFields satisfies Decided<FunctionTool>;
responses.customToolFields satisfies Decided<CustomTool>;
messages.requestFields satisfies Omit<Decided<MessagesParams>, HeaderParam>;
messages.messageFields satisfies Decided<MessageParam | BetaMessageParam>;
messages.outputConfigFields satisfies Decided<OutputConfig | BetaOutputConfig>;
messages.metadataFields satisfies Decided<Metadata | BetaMetadata>;
messages.thinkingFields satisfies Decided<ThinkingConfigParam | BetaThinkingConfigParam>;
messages.toolFields satisfies Decided<Tool | BetaTool>;

type OfType<Union, Type> = Union extends { type?: infer Own } ? (Type extends Own ? Union : never) : never;
type PartsDecided<Table, Union> = { readonly [Type in keyof Table]: Decided<OfType<Union, Type>> };

chat.partFields satisfies PartsDecided<
  typeof chat.partFields,
  ChatCompletionContentPart | ChatCompletionContentPartRefusal
>;
responses.itemFields satisfies PartsDecided<typeof responses.itemFields, ResponseInputItem>;
responses.partFields satisfies PartsDecided<
  typeof responses.partFields,
  ResponseInputContent | ResponseOutputText | ResponseOutputRefusal
>;
messages.blockFields satisfies PartsDecided<
  typeof messages.blockFields,
  ContentBlockParam | BetaContentBlockParam
>;

/** What becomes of an item or a block as a whole, by its type. Those that are read are decided on field by field. */
type TypesOf<Union> = Union extends { type?: infer Own } ? Own & string : never;
type WholeDecision = "read" | "dropped" | "refused";

const itemTypes: Readonly<Record<TypesOf<ResponseInputItem>, WholeDecision>> = {
  additional_tools: "read",
  apply_patch_call: "refused",
  apply_patch_call_output: "refused",
  code_interpreter_call: "dropped",
  compaction: "refused",
  compaction_trigger: "refused",
  computer_call: "refused",
  computer_call_output: "refused",
  configuration_update: "refused",
  custom_tool_call: "read",
  custom_tool_call_output: "read",
  file_search_call: "dropped",
  function_call: "read",
  function_call_output: "read",
  image_generation_call: "dropped",
  item_reference: "refused",
  local_shell_call: "refused",
  local_shell_call_output: "refused",
  mcp_approval_request: "refused",
  mcp_approval_response: "refused",
  mcp_call: "dropped",
  mcp_list_tools: "dropped",
  message: "read",
  program: "refused",
  program_output: "refused",
  reasoning: "read",
  shell_call: "refused",
  shell_call_output: "refused",
  tool_search_call: "read",
  tool_search_output: "read",
  web_search_call: "dropped",
};

const blockTypes: Readonly<Record<TypesOf<ContentBlockParam | BetaContentBlockParam>, WholeDecision>> = {
  advisor_tool_result: "dropped",
  bash_code_execution_tool_result: "dropped",
  code_execution_tool_result: "dropped",
  compaction: "refused",
  container_upload: "refused",
  document: "read",
  fallback: "dropped",
  image: "read",
  mcp_tool_listing: "dropped",
  mcp_tool_result: "dropped",
  mcp_tool_use: "dropped",
  redacted_thinking: "read",
  search_result: "read",
  server_tool_use: "dropped",
  text: "read",
  text_editor_code_execution_tool_result: "dropped",
  thinking: "read",
  tool_addition: "read",
  tool_removal: "read",
  tool_result: "read",
  tool_search_tool_result: "dropped",
  tool_use: "read",
  web_fetch_tool_result: "dropped",
  web_search_tool_result: "dropped",
};

const tables: Readonly<Record<ClientDialectName, FieldDecisions>> = {
  chat: chat.requestFields,
  responses: responses.requestFields,
  messages: messages.requestFields,
};

const schema = { type: "object", properties: { a: { type: "string" } } };
const said = [{ role: "user", content: "Hi" }];

const asked: Readonly<Record<ClientDialectName, JsonObject>> = {
  chat: { model: "m", messages: said },
  responses: { model: "m", input: "Hi" },
  messages: { model: "m", max_tokens: 8000, messages: said },
};

/** A value of each field that asks for something, with what it takes beside it. */
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
const traceless: ReadonlySet<string> = new Set([
  "chat modalities",
  "chat model",
  "chat stream_options",
  "responses model",
  "responses stream_options",
  "messages model",
]);

/** A tool's field needs a tool. */
const besides: Readonly<Record<string, readonly string[]>> = {
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

function translated(client: ClientDialectName, toward: ProviderDialectName, fields: JsonObject) {
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

function valuesOf(client: ClientDialectName, names: readonly string[]): JsonObject {
  const all: Readonly<Record<string, Json>> = examples[client];
  return Object.fromEntries(names.map((name) => [name, all[name] ?? null]));
}

function refusalOf(client: ClientDialectName, toward: ProviderDialectName, fields: JsonObject) {
  try {
    return JSON.stringify(translated(client, toward, fields));
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

describe.each(clientDialectNames)("every field of %s", (client) => {
  const others = clientDialectNames.filter((name) => name !== client);

  for (const [field, decision] of Object.entries(tables[client])) {
    const key = `${client} ${field}`;
    const beside = valuesOf(client, besides[key] ?? []);
    const example = { ...beside, ...valuesOf(client, [field]) };

    if (typeof decision === "object") {
      test(`${field} is refused by name`, () => {
        for (const toward of others) {
          const error = refusalOf(client, toward, example);
          expect(error).toMatchObject({ code: "invalid_request", param: field });
          expect(error).toHaveProperty("vendor", decision.vendor);
          for (const value of decision.except ?? []) {
            expect(translated(client, toward, { [field]: value }).dropped).toEqual([]);
          }
        }
      });
      continue;
    }

    test(`${field} is ${decision}`, () => {
      if (decision === "dropped") {
        for (const toward of others) expect(translated(client, toward, example).dropped).toContain(field);
        return;
      }
      const leavesTrace = others.some((toward) => {
        const refused = refusalOf(client, toward, example);
        if (refused instanceof GatewayError) return false;
        return refused !== JSON.stringify(translated(client, toward, beside));
      });
      expect(leavesTrace).toBe(!traceless.has(key));
    });

    test(`${field}: null is as good as nothing`, () => {
      if (["model", "messages", "input"].includes(field)) return;
      for (const toward of others) {
        const missing = translated(client, toward, { ...beside, [field]: undefined as never });
        expect(translated(client, toward, { ...beside, [field]: null })).toEqual(missing);
      }
    });
  }

  test("a field that no SDK knows is dropped, and named", () => {
    for (const toward of others) {
      for (const field of ["x_new", "constructor", "toString", "__proto__"]) {
        const fields: JsonObject = JSON.parse(`{${JSON.stringify(field)}: 1}`);
        expect(translated(client, toward, fields).dropped).toEqual([field]);
      }
    }
  });
});

describe("an item or a block that is not read", () => {
  const wholes: readonly (readonly [ClientDialectName, string, WholeDecision])[] = [
    ...Object.entries(itemTypes).map(([type, decision]) => ["responses", type, decision] as const),
    ...Object.entries(blockTypes).map(([type, decision]) => ["messages", type, decision] as const),
  ];

  test.each(wholes.filter(([, , decision]) => decision !== "read"))(
    "%s %s is %s",
    (client, type, decision) => {
      const part = { type, id: "x_1", content: "?" };
      // Files are uploaded by the user; the other blocks stand in what the assistant said.
      const role = type === "container_upload" ? "user" : "assistant";
      const turns = [
        { role: "user", content: "Hi" },
        { role, content: [part, { type: "text", text: "Yes." }] },
      ];
      const fields: JsonObject = client === "responses" ? { input: [part] } : { messages: turns };
      const path = client === "responses" ? "input[0]" : "messages[1].content[0]";
      for (const toward of clientDialectNames.filter((name) => name !== client)) {
        if (decision === "dropped") expect(translated(client, toward, fields).dropped).toContain(path);
        else expect(refusalOf(client, toward, fields)).toMatchObject({ param: path });
      }
    },
  );

  test("fields of those that are read are decided on one by one", () => {
    const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
    const turns = [
      { role: "user", content: [{ ...image, transformations: { oversized_image: "error" }, x: 1 }] },
    ];
    expect(translated("messages", "chat", { messages: turns }).dropped).toEqual([
      "image.transformations",
      "image.x",
    ]);
    const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}", id: "fc_1", async: true };
    const file = { type: "input_file", file_data: "data:text/plain;base64,QQ==", detail: "low" };
    const input = [call, { role: "user", content: [file] }];
    expect(translated("responses", "chat", { input }).dropped).toEqual([
      "function_call.async",
      "input_file.detail",
    ]);
    const parts = [{ type: "text", text: "Hi", x: 1 }];
    const said = translated("chat", "messages", { messages: [{ role: "user", content: parts }] });
    expect(said.dropped).toEqual(["text.x"]);
  });
});
