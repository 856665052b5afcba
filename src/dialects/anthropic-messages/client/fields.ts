import {
  carried,
  dropped,
  type FieldDecisions,
  ignored,
  type PartDecisions,
  unsupported,
} from "../../contract/field-decisions.ts";

/**
 * The fields of a Messages request, stable and beta, as of @anthropic-ai/sdk 1.8, and those that only the version
 * 2023-06-01 of the API has.
 */
export const requestFields = {
  ...carried("max_tokens", "messages", "metadata", "model", "output_config", "output_format"),
  ...carried("service_tier", "stop_sequences", "stream", "system", "temperature", "thinking"),
  ...carried("tool_choice", "tools", "top_k", "top_p"),
  ...dropped("context_management", "diagnostics", "fallback_credit_token", "speed"),
  // A mark for the whole request, at a place that Anthropic chooses.
  cache_control: "dropped",
  compaction: { rejected: `${unsupported}. Remove it, and summarize the conversation with a request` },
  container: { rejected: `${unsupported}. Remove it` },
  fallbacks: { rejected: `${unsupported}. Remove it` },
  inference_geo: { rejected: `${unsupported}. Remove it`, except: ["global"] },
  // Like any other tool that its vendor runs.
  mcp_servers: "dropped",
  // After this error the SDK's tool runners send the whole conversation; otherwise they send only what is new.
  thread: {
    rejected: `${unsupported}. Send the full conversation in \`messages\``,
    vendor: { details: { error_code: "thread_unsupported_request" } },
  },
} as const satisfies FieldDecisions;

/** Parameters of the SDK that it sends as headers. */
export const headerParams = ["betas", "user_profile_id", "workspace_id"] as const;

/** Fields of a message with any role. */
export const messageFields = {
  ...carried("clear_at", "content", "role"),
  ...dropped("output_config"),
} as const satisfies FieldDecisions;

export const outputConfigFields = {
  ...carried("effort", "format"),
  ...dropped("task_budget"),
} as const satisfies FieldDecisions;

export const metadataFields = { user_id: "carried" } as const satisfies FieldDecisions;

export const thinkingFields = {
  ...carried("budget_tokens", "display", "type"),
  ...dropped("block_binding"),
} as const satisfies FieldDecisions;

/** Fields of a client's own tool. */
export const toolFields = {
  ...carried("cache_control", "description", "input_schema", "name", "strict", "type"),
  ...dropped("allowed_callers", "defer_loading", "eager_input_streaming", "input_examples"),
} as const satisfies FieldDecisions;

/** Fields of the content blocks that are translated. Citations are reported on their own. */
export const blockFields = {
  document: carried("cache_control", "citations", "context", "source", "title", "type"),
  image: { ...carried("cache_control", "source", "type"), ...dropped("transformations") },
  redacted_thinking: carried("data", "type"),
  search_result: carried("cache_control", "citations", "content", "source", "title", "type"),
  text: carried("cache_control", "citations", "text", "type"),
  thinking: carried("signature", "thinking", "type"),
  tool_result: {
    ...carried("cache_control", "content", "is_error", "tool_use_id", "type"),
    ...ignored("toolset_name"),
  },
  tool_use: {
    ...carried("cache_control", "id", "input", "name", "type"),
    ...ignored("caller", "toolset_name"),
  },
} as const satisfies PartDecisions;
