/**
 * Differences of servers with OpenAI's API that affect a request. Differences in a response (reasoning outside of
 * `completion_tokens`, usage in odd places) are detected there and need no name.
 */
export const quirks = {
  choice_any: '`tool_choice: "any"` forces a tool call, instead of `required`.',
  ids9: "Tool call ids must have exactly nine letters and digits.",
  no_stream_options: "`stream_options` is rejected; streams always report their usage.",
  no_strict: "`strict` is rejected in tools and schemas.",
  no_user: "`user` is rejected.",
  no_name: "`name` is rejected on messages.",
  prefix: "A final assistant message that the model continues needs `prefix: true`.",
  reasoning_back: "Messages with tool calls must have `reasoning_content`, even if it is empty.",
  reasoning_details: "`reasoning_details` of earlier responses must be sent back unchanged.",
  thinking_switch: '`thinking: {"type": "enabled" | "disabled"}` replaces `reasoning_effort`.',
  alternate: "User and assistant messages must alternate, so consecutive messages of one role are merged.",
  split_choices: "One response can be split into several choices.",
  output_dimension: "`dimensions` of embeddings is called `output_dimension`.",
  no_float: 'Embeddings reject `encoding_format: "float"`; omit the field to get floats.',
  inputs_32: "At most 32 inputs are embedded at once.",
  inputs_1000: "At most 1,000 inputs are embedded at once.",
  top_k: "`top_n` of rerank is called `top_k`.",
  cohere_embed: "Embeddings use `/embed` and Cohere's own format; chat uses `/compatibility/v1`.",
} as const;

export type Quirk = keyof typeof quirks;

// The cast holds because the type is computed from the same object.
export const quirkNames = Object.keys(quirks) as readonly Quirk[];

export function hasQuirk(
  { quirks: own }: { readonly quirks?: readonly Quirk[] | undefined },
  quirk: Quirk,
): boolean {
  return own?.includes(quirk) === true;
}
