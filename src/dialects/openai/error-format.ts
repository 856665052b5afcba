import { Type } from "@sinclair/typebox";
import { errorKinds } from "../../base/errors.ts";
import { detailsOf, type ErrorFormat } from "../errors/envelope.ts";
import { openAiLimits } from "../errors/rate-limits.ts";
import { forCodex } from "./codex-errors.ts";

/** Interface 7.1. The envelope allows extra fields. */
const schema = Type.Object({
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

export const openAiErrors: ErrorFormat = {
  title: "Format A",
  schemaName: "ErrorEnvelopeA",
  schema,
  requestIdHeaders: ["x-request-id"],
  rateLimits: openAiLimits,
  body: (error, requestId) => ({
    error: {
      message: error.message,
      type: errorKinds[error.code].type,
      code: error.vendor?.code ?? error.code,
      param: error.param ?? null,
      ...detailsOf(error),
      request_id: requestId,
    },
  }),
  forAgent: forCodex,
};
