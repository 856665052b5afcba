import { Type } from "@sinclair/typebox";
import {
  anyObject,
  arrayOfObjects,
  modelName,
  optional,
  positiveInteger,
  streamFlag,
  stringOrObject,
  tokenCount,
} from "../../schema/fields.ts";

/** Interface 2.3 to 2.5. https://platform.openai.com/docs/api-reference/chat */

const functionCall = Type.Object({
  id: Type.String(),
  type: Type.Literal("function"),
  function: Type.Object({
    name: Type.String({ minLength: 1 }),
    arguments: Type.String({ description: "The arguments as JSON text, not as an object." }),
  }),
});

/** Calls of unknown types pass, as long as they have an id and a type. */
const otherCall = Type.Object({
  id: Type.String(),
  type: Type.Intersect([Type.String(), Type.Not(Type.Literal("function"))]),
});

const chatToolCall = Type.Union([functionCall, otherCall]);

const roles = ["developer", "system", "user", "assistant", "tool"] as const;

export const chatMessage = Type.Object({
  role: Type.Union(roles.map((role) => Type.Literal(role))),
  content: optional(Type.Union([Type.String(), arrayOfObjects])),
  name: optional(Type.String()),
  tool_call_id: optional(Type.String()),
  tool_calls: optional(Type.Array(chatToolCall)),
});

export const chatRequest = Type.Object({
  model: modelName,
  messages: Type.Array(chatMessage, { minItems: 1 }),
  stream: optional(streamFlag),
  max_tokens: optional(
    positiveInteger({ description: "Must not exceed the model's published output limit." }),
  ),
  max_completion_tokens: optional(
    positiveInteger({
      description: "The newer name of max_tokens. Must not exceed the model's published output limit.",
    }),
  ),
  temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
  stop: optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])),
  tools: optional(arrayOfObjects),
  tool_choice: optional(stringOrObject),
  user: optional(Type.String()),
});

/** The accepted form: clients that still use `functions` return results with a role that the contract does not list. */
export const acceptedChatRequest = Type.Object({
  ...chatRequest.properties,
  messages: Type.Array(
    Type.Object({
      ...chatMessage.properties,
      role: Type.Union([...roles, "function" as const].map((role) => Type.Literal(role))),
    }),
    { minItems: 1 },
  ),
});

export const chatResponse = Type.Object({
  id: Type.String(),
  object: Type.String(),
  created: Type.Optional(Type.Integer()),
  model: Type.String(),
  choices: arrayOfObjects,
  usage: Type.Optional(
    Type.Object({
      prompt_tokens: tokenCount,
      completion_tokens: tokenCount,
      total_tokens: tokenCount,
    }),
  ),
});

/** Interface 6.1: the JSON object of one `data:` line. */
export const chatChunk = Type.Object({
  id: Type.String(),
  object: Type.Literal("chat.completion.chunk"),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer({ minimum: 0 }),
      delta: anyObject,
      finish_reason: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});
