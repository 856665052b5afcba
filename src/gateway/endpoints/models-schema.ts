import { Type } from "@sinclair/typebox";

/** Interface 2.1 and 2.2. */

const integerOrNull = (description?: string) =>
  Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], description === undefined ? {} : { description });

export const model = Type.Object({
  id: Type.String({ description: "Exact identifier to pass as `model` in requests." }),
  object: Type.Literal("model"),
  created: Type.Integer(),
  owned_by: Type.String(),
  display_name: Type.Optional(Type.String()),
  tagline: Type.Optional(Type.String()),
  provider: Type.Optional(Type.String()),
  context_window: Type.Optional(integerOrNull()),
  max_output_tokens: Type.Optional(integerOrNull("The published output limit used to cap requests.")),
  capabilities: Type.Optional(Type.Object({})),
  pricing: Type.Optional(
    Type.Object({}, { description: "Published customer-facing pricing metadata when available." }),
  ),
});

export const modelList = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(model) },
  { additionalProperties: false },
);
