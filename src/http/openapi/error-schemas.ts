import { Type } from "@sinclair/typebox";

/** Interface 7.1. Both envelopes allow extra fields. */

export const errorEnvelopeA = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    code: Type.String(),
    param: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: "The failing field as a path, such as `messages[0].role`.",
      }),
    ),
    request_id: Type.Optional(Type.String()),
  }),
});

export const errorEnvelopeB = Type.Object({
  type: Type.Literal("error"),
  error: Type.Object({
    type: Type.String(),
    message: Type.String(),
    code: Type.Optional(Type.String({ description: "The same codes as in Format A." })),
    request_id: Type.Optional(Type.String()),
  }),
  request_id: Type.Optional(Type.String()),
});
