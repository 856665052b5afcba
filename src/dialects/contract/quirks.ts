/**
 * How servers with OpenAI's API differ from it, where a request must take account of it. What can be seen
 * in an answer (reasoning outside of `completion_tokens`, usage in odd places) is noticed there and needs no name.
 */
export const quirks = {
  choice_any: 'A tool call is forced by `tool_choice: "any"`; `required` is not known.',
  ids9: "Ids of tool calls have exactly nine letters and digits.",
  no_stream_options: "`stream_options` is rejected; streams report their usage anyway.",
  no_strict: "`strict` is rejected in tools and schemas.",
  no_user: "`user` is rejected.",
  no_name: "`name` is rejected on messages.",
  prefix: "A last message of the assistant, to be continued, needs `prefix: true`.",
  reasoning_back: "Messages with tool calls must have `reasoning_content`, even if it is empty.",
  reasoning_details: "`reasoning_details` of earlier answers must come back as they were.",
  thinking_switch: '`thinking: {"type": "enabled" | "disabled"}` stands in for `reasoning_effort`.',
  alternate: "Messages of user and assistant must alternate, so neighbours of one role are joined.",
  split_choices: "One answer may be split into several choices.",
  output_dimension: "`dimensions` of embeddings is called `output_dimension`.",
  no_float: "`encoding_format` of embeddings may not be `float`, which comes where nothing is asked for.",
  inputs_32: "At most 32 inputs are embedded at once.",
  inputs_1000: "At most 1,000 inputs are embedded at once.",
  top_k: "`top_n` of rerank is called `top_k`.",
  cohere_embed: "Embeddings are at `/embed`, in Cohere's own format; chat is at `/compatibility/v1`.",
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
