import { type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/**
 * The Responses object and its events as they are published, field by field: by Open Responses (version of 2026-04-24,
 * `schema/*.tsp`), and by the types of openai-node 7.53 where those require more. A field without a note is required.
 * Objects are open, because vendors add fields.
 */

const nullable = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const oneOf = (...values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)));
const anyObject = Type.Record(Type.String(), Type.Unknown());

// ——— Content ———

/** The one annotation that is translated. */
const urlCitation = Type.Object({
  type: Type.Literal("url_citation"),
  url: Type.String(),
  title: Type.String(),
  start_index: Type.Integer(),
  end_index: Type.Integer(),
});
const outputText = Type.Object({
  type: Type.Literal("output_text"),
  text: Type.String(),
  annotations: Type.Array(urlCitation),
  /** Optional in both; when present, a list. */
  logprobs: Type.Optional(Type.Array(anyObject)),
});
const refusal = Type.Object({ type: Type.Literal("refusal"), refusal: Type.String() });
const summaryText = Type.Object({ type: Type.Literal("summary_text"), text: Type.String() });
const reasoningText = Type.Object({ type: Type.Literal("reasoning_text"), text: Type.String() });

// ——— Items ———

const itemStatus = oneOf("in_progress", "completed", "incomplete");

const message = Type.Object({
  type: Type.Literal("message"),
  id: Type.String(),
  status: itemStatus,
  role: Type.Literal("assistant"),
  content: Type.Array(Type.Union([outputText, refusal])),
  phase: Type.Optional(oneOf("commentary", "final_answer")),
});
const functionCall = Type.Object({
  type: Type.Literal("function_call"),
  id: Type.String(),
  call_id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  arguments: Type.String(),
  status: itemStatus,
  /** Only OpenAI's types have it. */
  namespace: Type.Optional(Type.String()),
});
/** Only OpenAI's types have it. */
const customToolCall = Type.Object({
  type: Type.Literal("custom_tool_call"),
  id: Type.String(),
  call_id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  input: Type.String(),
});
/** Only OpenAI's types have it. */
const toolSearchCall = Type.Object({
  type: Type.Literal("tool_search_call"),
  id: Type.String(),
  arguments: Type.Unknown(),
  call_id: nullable(Type.String()),
  execution: oneOf("server", "client"),
  status: itemStatus,
});
const reasoning = Type.Object({
  type: Type.Literal("reasoning"),
  id: Type.String(),
  summary: Type.Array(summaryText),
  content: Type.Optional(Type.Array(reasoningText)),
  encrypted_content: Type.Optional(Type.String()),
});
const compactionItem = Type.Object({
  type: Type.Literal("compaction"),
  id: Type.String(),
  encrypted_content: Type.String(),
});
const item = Type.Union([message, functionCall, customToolCall, toolSearchCall, reasoning, compactionItem]);

// ——— The response ———

const functionTool = Type.Object({
  type: Type.Literal("function"),
  name: Type.String(),
  description: nullable(Type.String()),
  parameters: nullable(anyObject),
  strict: nullable(Type.Boolean()),
});
/** OpenAI has many more types of tools; none of their fields is required of a response. */
const otherTool = Type.Object({
  type: Type.Intersect([Type.String(), Type.Not(Type.Literal("function"))]),
});

const toolChoice = Type.Union([
  oneOf("none", "auto", "required"),
  Type.Object({
    type: Type.Literal("allowed_tools"),
    tools: Type.Array(anyObject),
    mode: oneOf("none", "auto", "required"),
  }),
  Type.Object({ type: Type.Intersect([Type.String(), Type.Not(Type.Literal("allowed_tools"))]) }),
]);

const textFormat = Type.Union([
  Type.Object({ type: oneOf("text", "json_object") }),
  Type.Object({
    type: Type.Literal("json_schema"),
    name: Type.String(),
    description: nullable(Type.String()),
    /** Open Responses says null, which is a slip: OpenAI repeats the schema. */
    schema: anyObject,
    strict: Type.Boolean(),
  }),
]);

const usage = Type.Object({
  input_tokens: Type.Integer({ minimum: 0 }),
  input_tokens_details: Type.Object({
    cached_tokens: Type.Integer({ minimum: 0 }),
    /** Required by OpenAI's types only. */
    cache_write_tokens: Type.Integer({ minimum: 0 }),
  }),
  output_tokens: Type.Integer({ minimum: 0 }),
  output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer({ minimum: 0 }) }),
  total_tokens: Type.Integer({ minimum: 0 }),
});

const responseFields = {
  id: Type.String({ minLength: 1 }),
  object: Type.Literal("response"),
  created_at: Type.Integer(),
  model: Type.String({ minLength: 1 }),
  previous_response_id: nullable(Type.String()),
  instructions: nullable(Type.String()),
  output: Type.Array(item),
  tools: Type.Array(Type.Union([functionTool, otherTool])),
  tool_choice: toolChoice,
  truncation: oneOf("auto", "disabled"),
  parallel_tool_calls: Type.Boolean(),
  text: Type.Object({ format: textFormat, verbosity: Type.Optional(oneOf("low", "medium", "high")) }),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  top_logprobs: Type.Integer(),
  temperature: Type.Number(),
  reasoning: nullable(
    Type.Object({ effort: nullable(Type.String()), summary: nullable(oneOf("concise", "detailed", "auto")) }),
  ),
  max_output_tokens: nullable(Type.Integer()),
  max_tool_calls: nullable(Type.Integer()),
  store: Type.Boolean(),
  background: Type.Boolean(),
  service_tier: Type.String(),
  metadata: Type.Record(Type.String(), Type.String()),
  safety_identifier: nullable(Type.String()),
  prompt_cache_key: nullable(Type.String()),
  /** Required by the first version of Open Responses, optional since. */
  user: nullable(Type.String()),
  /** Required by OpenAI's types only. */
  access_programs: nullable(anyObject),
};

const nothing = Type.Null();

/** What depends on the status, beyond what the schema says: a failed response has an error, and so on. */
const responses = {
  in_progress: Type.Object({
    ...responseFields,
    status: Type.Literal("in_progress"),
    completed_at: nothing,
    incomplete_details: nothing,
    error: nothing,
    usage: nullable(usage),
  }),
  completed: Type.Object({
    ...responseFields,
    status: Type.Literal("completed"),
    completed_at: Type.Integer(),
    incomplete_details: nothing,
    error: nothing,
    usage: nullable(usage),
  }),
  incomplete: Type.Object({
    ...responseFields,
    status: Type.Literal("incomplete"),
    completed_at: nothing,
    incomplete_details: Type.Object({ reason: oneOf("max_output_tokens", "content_filter") }),
    error: nothing,
    usage: nullable(usage),
  }),
  failed: Type.Object({
    ...responseFields,
    status: Type.Literal("failed"),
    completed_at: nothing,
    incomplete_details: nothing,
    error: Type.Object({
      code: Type.String({ minLength: 1 }),
      message: Type.String({ minLength: 1 }),
      /** Both optional in OpenAI's types. */
      type: Type.Optional(nullable(Type.String())),
      param: Type.Optional(nullable(Type.String())),
    }),
    usage: nullable(usage),
  }),
};

/** What a message of a client looks like in an answer. */
const userMessage = Type.Object({
  type: Type.Literal("message"),
  id: Type.String({ minLength: 1 }),
  status: itemStatus,
  role: Type.Literal("user"),
  content: Type.Array(
    Type.Union([
      Type.Object({ type: Type.Literal("input_text"), text: Type.String() }),
      Type.Object({
        type: Type.Literal("input_image"),
        image_url: nullable(Type.String()),
        detail: oneOf("low", "high", "auto"),
      }),
      Type.Object({ type: Type.Literal("input_file") }),
    ]),
  ),
});

const compaction = Type.Object({
  id: Type.String({ minLength: 1 }),
  object: Type.Literal("response.compaction"),
  created_at: Type.Integer(),
  output: Type.Array(Type.Union([userMessage, compactionItem])),
  usage,
});

// ——— Events ———

function event(type: string, fields: Readonly<Record<string, TSchema>>): [string, TSchema] {
  return [
    type,
    Type.Object({ type: Type.Literal(type), sequence_number: Type.Integer({ minimum: 0 }), ...fields }),
  ];
}

const index = Type.Integer({ minimum: 0 });
const ofItem = { item_id: Type.String({ minLength: 1 }), output_index: index };
const ofPart = { ...ofItem, content_index: index };
const ofSummary = { ...ofItem, summary_index: index };
const delta = Type.String({ minLength: 1 });
const text = Type.String();
const logprobs = Type.Array(anyObject);

const events: ReadonlyMap<string, TSchema> = new Map([
  event("response.created", { response: responses.in_progress }),
  event("response.in_progress", { response: responses.in_progress }),
  event("response.completed", { response: responses.completed }),
  event("response.incomplete", { response: responses.incomplete }),
  event("response.failed", { response: responses.failed }),
  event("response.output_item.added", { output_index: index, item }),
  event("response.output_item.done", { output_index: index, item }),
  event("response.content_part.added", { ...ofPart, part: Type.Union([outputText, refusal]) }),
  event("response.content_part.done", { ...ofPart, part: Type.Union([outputText, refusal]) }),
  event("response.output_text.delta", { ...ofPart, delta, logprobs }),
  event("response.output_text.done", { ...ofPart, text, logprobs }),
  event("response.output_text.annotation.added", {
    ...ofPart,
    annotation_index: index,
    annotation: urlCitation,
  }),
  event("response.refusal.delta", { ...ofPart, delta }),
  event("response.refusal.done", { ...ofPart, refusal: text }),
  event("response.reasoning_summary_part.added", { ...ofSummary, part: summaryText }),
  event("response.reasoning_summary_part.done", { ...ofSummary, part: summaryText }),
  event("response.reasoning_summary_text.delta", { ...ofSummary, delta }),
  event("response.reasoning_summary_text.done", { ...ofSummary, text }),
  event("response.function_call_arguments.delta", { ...ofItem, delta }),
  // The name is in OpenAI's published schema, not in its SDK's types.
  event("response.function_call_arguments.done", { ...ofItem, name: Type.String(), arguments: text }),
  event("response.custom_tool_call_input.delta", { ...ofItem, delta }),
  event("response.custom_tool_call_input.done", { ...ofItem, input: text }),
  event("keepalive", {}),
]);

/** What a response lacks, as `path: problem`; empty for one that is complete. */
export function lacksOfResponse(response: unknown): string[] {
  const status = (response as { status?: keyof typeof responses }).status ?? "completed";
  return lacks(responses[status], response);
}

/** The same for the answer of the route that compacts. */
export function lacksOfCompaction(answer: unknown): string[] {
  return lacks(compaction, answer);
}

/** The same for the data of one event. */
export function lacksOfEvent(data: { readonly type?: unknown }): string[] {
  const schema = events.get(String(data.type));
  if (schema === undefined) return [`${String(data.type)}: no such event`];
  return lacks(schema, data).map((problem) => `${String(data.type)} ${problem}`);
}

function lacks(schema: TSchema, value: unknown): string[] {
  return Value.Check(schema, value)
    ? []
    : [...Value.Errors(schema, value)].map(({ path, message: problem }) => `${path}: ${problem}`);
}
