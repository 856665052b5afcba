import { type FieldDecisions, type PartDecisions, unsupported } from "../../contract/field-decisions.ts";

const keepsNothing = `${unsupported}. Send the full conversation in \`input\``;

/** The fields of a Responses request, as of openai-node 7.53 and Open Responses. */
export const requestFields = {
  access_programs: "dropped",
  background: { rejected: unsupported, except: [false] },
  context_management: "dropped",
  conversation: { rejected: keepsNothing },
  frequency_penalty: "dropped",
  image: "dropped",
  // Encrypted reasoning is always included; log probabilities are rejected, other values dropped.
  include: "carried",
  input: "carried",
  instructions: "carried",
  max_output_tokens: "carried",
  max_tool_calls: "dropped",
  metadata: "carried",
  model: "carried",
  moderation: { rejected: `${unsupported}. Remove it` },
  parallel_tool_calls: "carried",
  presence_penalty: "dropped",
  previous_response_id: { rejected: keepsNothing },
  prompt: { rejected: `${unsupported}. Send the prompt text in \`input\`` },
  prompt_cache_key: "carried",
  prompt_cache_options: "dropped",
  prompt_cache_retention: "dropped",
  reasoning: "carried",
  safety_identifier: "carried",
  service_tier: "carried",
  store: "carried",
  stream: "carried",
  // Only about the padding of events.
  stream_options: "carried",
  temperature: "carried",
  text: "carried",
  tool_choice: "carried",
  tools: "carried",
  top_logprobs: { rejected: unsupported, except: [0] },
  top_p: "carried",
  // `auto` is dropped: other providers reject what is too long.
  truncation: "carried",
  user: "carried",
} as const satisfies FieldDecisions;

export const reasoningFields = {
  context: "dropped",
  effort: "carried",
  generate_summary: "carried",
  mode: "dropped",
  summary: "carried",
} as const satisfies FieldDecisions;

export const textFields = { format: "carried", verbosity: "carried" } as const satisfies FieldDecisions;

/** Fields of a function, in `tools` or in the conversation. */
export const functionFields = {
  allowed_callers: "dropped",
  async: "dropped",
  defer_loading: "dropped",
  description: "carried",
  name: "carried",
  output_schema: "dropped",
  parameters: "carried",
  strict: "carried",
  type: "carried",
} as const satisfies FieldDecisions;

/** Fields of a free-form tool. */
export const customToolFields = {
  allowed_callers: "dropped",
  async: "dropped",
  defer_loading: "dropped",
  description: "carried",
  format: "carried",
  name: "carried",
  type: "carried",
} as const satisfies FieldDecisions;

/** Fields of the input items that are translated. A phase is reported on its own. */
export const itemFields = {
  additional_tools: { id: "ignored", role: "ignored", tools: "carried", type: "carried" },
  custom_tool_call: {
    async: "dropped",
    call_id: "carried",
    caller: "ignored",
    id: "ignored",
    input: "carried",
    name: "carried",
    namespace: "carried",
    status: "ignored",
    type: "carried",
  },
  custom_tool_call_output: {
    call_id: "carried",
    caller: "ignored",
    id: "ignored",
    output: "carried",
    status: "ignored",
    type: "carried",
  },
  function_call: {
    arguments: "carried",
    async: "dropped",
    call_id: "carried",
    caller: "ignored",
    id: "ignored",
    name: "carried",
    namespace: "carried",
    status: "ignored",
    type: "carried",
  },
  function_call_output: {
    call_id: "carried",
    caller: "ignored",
    id: "ignored",
    // They repeat what the call says.
    name: "ignored",
    namespace: "ignored",
    output: "carried",
    status: "ignored",
    type: "carried",
  },
  message: {
    content: "carried",
    id: "ignored",
    phase: "carried",
    role: "carried",
    status: "ignored",
    type: "carried",
  },
  reasoning: {
    content: "carried",
    encrypted_content: "carried",
    id: "carried",
    status: "ignored",
    summary: "carried",
    type: "carried",
  },
} as const satisfies PartDecisions;

/** Fields of the parts of a message or an output. Annotations are reported on their own. */
export const partFields = {
  input_file: {
    detail: "dropped",
    file_data: "carried",
    file_id: "carried",
    file_url: "carried",
    filename: "carried",
    prompt_cache_breakpoint: "carried",
    type: "carried",
  },
  input_image: {
    detail: "carried",
    file_id: "carried",
    image_url: "carried",
    prompt_cache_breakpoint: "carried",
    type: "carried",
  },
  input_text: { prompt_cache_breakpoint: "carried", text: "carried", type: "carried" },
  output_text: { annotations: "carried", logprobs: "ignored", text: "carried", type: "carried" },
  refusal: { refusal: "carried", type: "carried" },
} as const satisfies PartDecisions;
