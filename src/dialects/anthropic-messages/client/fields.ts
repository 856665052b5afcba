import { type FieldDecisions, type PartDecisions, unsupported } from "../../contract/field-decisions.ts";

/**
 * The fields of a Messages request, stable and beta, as of @anthropic-ai/sdk 1.8, and those that only the version
 * 2023-06-01 of the API has.
 */
export const requestFields = {
  // A mark for the whole request, at a place that Anthropic chooses.
  cache_control: "dropped",
  compaction: {
    rejected: `${unsupported}. Remove it, and summarize the conversation with a request`,
  },
  container: { rejected: `${unsupported}. Remove it` },
  context_management: "dropped",
  diagnostics: "dropped",
  fallback_credit_token: "dropped",
  fallbacks: { rejected: `${unsupported}. Remove it` },
  inference_geo: {
    rejected: `${unsupported}. Remove it`,
    except: ["global"],
  },
  max_tokens: "carried",
  // Like any other tool that its vendor runs.
  mcp_servers: "dropped",
  messages: "carried",
  metadata: "carried",
  model: "carried",
  output_config: "carried",
  output_format: "carried",
  service_tier: "carried",
  speed: "dropped",
  stop_sequences: "carried",
  stream: "carried",
  system: "carried",
  temperature: "carried",
  thinking: "carried",
  // After this error the SDK's tool runners send the whole conversation; otherwise they send only what is new.
  thread: {
    rejected: `${unsupported}. Send the full conversation in \`messages\``,
    vendor: { details: { error_code: "thread_unsupported_request" } },
  },
  tool_choice: "carried",
  tools: "carried",
  top_k: "carried",
  top_p: "carried",
} as const satisfies FieldDecisions;

/** Parameters of the SDK that it sends as headers. */
export const headerParams = ["betas", "user_profile_id", "workspace_id"] as const;

/** Fields of a message with any role. */
export const messageFields = {
  clear_at: "carried",
  content: "carried",
  output_config: "dropped",
  role: "carried",
} as const satisfies FieldDecisions;

export const outputConfigFields = {
  effort: "carried",
  format: "carried",
  task_budget: "dropped",
} as const satisfies FieldDecisions;

export const metadataFields = { user_id: "carried" } as const satisfies FieldDecisions;

export const thinkingFields = {
  block_binding: "dropped",
  budget_tokens: "carried",
  display: "carried",
  type: "carried",
} as const satisfies FieldDecisions;

/** Fields of a client's own tool. */
export const toolFields = {
  allowed_callers: "dropped",
  cache_control: "carried",
  defer_loading: "dropped",
  description: "carried",
  eager_input_streaming: "dropped",
  input_examples: "dropped",
  input_schema: "carried",
  name: "carried",
  strict: "carried",
  type: "carried",
} as const satisfies FieldDecisions;

/** Fields of the content blocks that are translated. Citations are reported on their own. */
export const blockFields = {
  document: {
    cache_control: "carried",
    citations: "carried",
    context: "carried",
    source: "carried",
    title: "carried",
    type: "carried",
  },
  image: { cache_control: "carried", source: "carried", transformations: "dropped", type: "carried" },
  redacted_thinking: { data: "carried", type: "carried" },
  search_result: {
    cache_control: "carried",
    citations: "carried",
    content: "carried",
    source: "carried",
    title: "carried",
    type: "carried",
  },
  text: { cache_control: "carried", citations: "carried", text: "carried", type: "carried" },
  thinking: { signature: "carried", thinking: "carried", type: "carried" },
  tool_result: {
    cache_control: "carried",
    content: "carried",
    is_error: "carried",
    tool_use_id: "carried",
    toolset_name: "ignored",
    type: "carried",
  },
  tool_use: {
    cache_control: "carried",
    caller: "ignored",
    id: "carried",
    input: "carried",
    name: "carried",
    toolset_name: "ignored",
    type: "carried",
  },
} as const satisfies PartDecisions;
