import { Type } from "@sinclair/typebox";
import { arrayOfObjects, optional } from "../../schema/fields.ts";

const embedding = Type.Object({ values: Type.Array(Type.Number()) });
const usageMetadata = Type.Object({ promptTokenCount: Type.Integer() });

const embedRequest = Type.Object({
  content: Type.Object({ parts: arrayOfObjects }),
  outputDimensionality: optional(Type.Integer({ minimum: 1 })),
  taskType: optional(Type.String()),
  title: optional(Type.String()),
});

/** Google's requests for vectors, as they are documented. Their fields have two spellings. */
export const documentedEmbeddings = {
  EmbedContentRequest: embedRequest,
  EmbedContentResponse: Type.Object({ embedding, usageMetadata }),
  BatchEmbedContentsRequest: Type.Object({
    requests: Type.Array(embedRequest, { minItems: 1, maxItems: 100 }),
  }),
  BatchEmbedContentsResponse: Type.Object({ embeddings: Type.Array(embedding), usageMetadata }),
};
