import { Type } from "@sinclair/typebox";
import { noUsage } from "../../../base/usage/usage.ts";
import { malformedResponse } from "../../errors/failure.ts";
import { readOutline } from "../../provider-response/outline.ts";
import { anyObject, arrayOfObjects, modelName, optional } from "../../schema/fields.ts";
import { freeOfUnits, type MeteredRoute, openAiFormat } from "../route.ts";

const moderationRequest = Type.Object({
  model: optional(modelName),
  input: Type.Union([Type.String(), Type.Array(Type.String()), arrayOfObjects], {
    description: "A text, or a list of texts or of text and image parts.",
  }),
});

const moderationResponse = Type.Object({
  id: Type.String(),
  model: Type.String(),
  results: Type.Array(anyObject),
});

/** Whether texts and images are harmful. It is free, and clients may leave the model out. https://platform.openai.com/docs/api-reference/moderations */
export const moderations: MeteredRoute = {
  paths: ["/v1/moderations"],
  operation: {
    operationId: "createModeration",
    summary: "Create a moderation",
    request: "ModerationRequest",
    response: "ModerationResponse",
    schemas: { ModerationRequest: moderationRequest, ModerationResponse: moderationResponse },
  },
  switchedBy: "moderations",
  use: "moderations",
  tracedAs: "moderations",
  requestSchema: moderationRequest,
  prices: [],
  modelIsOptional: true,
  formats: {
    openai: openAiFormat("moderations", ({ bytes }) => {
      if (!Array.isArray(readOutline(bytes, "results")["results"]))
        throw malformedResponse("it has no results");
      return { written: null, usage: noUsage, extras: {} };
    }),
  },
  demand: () => freeOfUnits,
};
