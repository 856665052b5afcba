import { Type } from "@sinclair/typebox";
import {
  anyObject,
  arrayOfObjects,
  modelName,
  optional,
  positiveInteger,
  streamFlag,
  stringOrObject,
} from "../../schema/fields.ts";

/** Interface 2.6 and 2.7. https://platform.openai.com/docs/api-reference/responses */

export const responsesRequest = Type.Object({
  model: modelName,
  input: Type.Union([Type.String(), arrayOfObjects]),
  instructions: optional(Type.String()),
  stream: optional(streamFlag),
  max_output_tokens: optional(
    positiveInteger({ description: "Must not exceed the model's published output limit." }),
  ),
  tools: optional(arrayOfObjects),
  tool_choice: optional(stringOrObject),
});

/** Every field of a request may be missing from one that only counts. */
export const inputTokensRequest = Type.Object({
  model: optional(modelName),
  input: optional(responsesRequest.properties.input),
  instructions: responsesRequest.properties.instructions,
  tools: responsesRequest.properties.tools,
  tool_choice: responsesRequest.properties.tool_choice,
});

export const inputTokensResponse = Type.Object({
  object: Type.Literal("response.input_tokens"),
  input_tokens: Type.Integer({ minimum: 0 }),
});

export const compactRequest = Type.Object({
  model: modelName,
  input: optional(Type.Union([Type.String(), arrayOfObjects])),
  previous_response_id: optional(Type.String()),
  instructions: optional(Type.String()),
  stream: optional(Type.Literal(false, { description: "The response is not streamed." })),
});

export const compactResponse = Type.Object({
  id: Type.String(),
  object: Type.Literal("response.compaction"),
  created_at: Type.Integer(),
  output: arrayOfObjects,
  usage: anyObject,
});

export const responsesResponse = Type.Object({
  id: Type.String(),
  object: Type.String(),
  model: Type.Optional(Type.String()),
  output: Type.Optional(arrayOfObjects),
  usage: Type.Optional(anyObject),
});
