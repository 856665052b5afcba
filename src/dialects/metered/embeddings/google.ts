import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { modelName } from "../../gemini/provider/targets.ts";
import { objectOf, objectsOf } from "../../json/json-fields.ts";
import { isTokenCount } from "../../usage/reported-usage.ts";
import { dimensionsOf, dropOthers, textsOf } from "./request.ts";
import { vectorOf, vectorsOf, writtenFormat } from "./vectors.ts";

/** https://ai.google.dev/api/embeddings: the older models report no usage. */
export const geminiEmbeddings = writtenFormat(
  {
    dialect: "gemini",
    method: () => "batchEmbedContents",
    maxInputs: () => 100,
    write(body, { model }, dropped) {
      dropOthers(body, [], dropped);
      const options = sizeOption(body);
      return {
        requests: textsOf(body).map((text) => ({
          model: modelName(model),
          content: { parts: [{ text }] },
          ...options,
        })),
      };
    },
    addOptions: ({ requests }, options) => ({
      requests: objectsOf(requests).map((request, index) => ({ ...options[index], ...request })),
    }),
  },
  ({ embeddings, usageMetadata }) => ({
    vectors: vectorsOf(embeddings, (item) => item["values"]),
    tokens: promptTokens(usageMetadata),
  }),
);

/** Models from gemini-embedding-2 on take one content, by another method than the earlier ones. */
const takesContent = /^gemini-embedding-(?!0)/;

/** https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api */
export const vertexEmbeddings = writtenFormat(
  {
    dialect: "gemini",
    method: ({ name }) => (takesContent.test(name) ? "embedContent" : "predict"),
    maxInputs: ({ name }) => (name.startsWith("gemini-embedding") ? 1 : 250),
    write(body, target, dropped) {
      dropOthers(body, [], dropped);
      return takesContent.test(target.name) ? contentOf(body) : instancesOf(body);
    },
    addOptions({ instances, ...written }, options, drop) {
      if (instances === undefined) return { ...options[0], ...written };
      const own = objectsOf(instances).map((instance, index) => ({
        ...instance,
        ...instanceOptions(options[index] ?? {}, drop),
      }));
      return { ...written, instances: own };
    },
  },
  (answer) => {
    const { embedding, predictions, usageMetadata } = answer;
    if (isObject(embedding)) {
      return { vectors: [vectorOf(embedding["values"])], tokens: promptTokens(usageMetadata) };
    }
    return {
      vectors: vectorsOf(predictions, (item) => objectOf(item["embeddings"])?.["values"]),
      tokens: statedTokens(predictions),
    };
  },
);

function contentOf(body: JsonObject): JsonObject {
  return { content: { parts: textsOf(body).map((text) => ({ text })) }, ...sizeOption(body) };
}

function instancesOf(body: JsonObject): JsonObject {
  const options = sizeOption(body);
  return {
    instances: textsOf(body).map((content) => ({ content })),
    ...(Object.keys(options).length === 0 ? {} : { parameters: options }),
  };
}

function instanceOptions(options: JsonObject, drop: (name: string) => void): JsonObject {
  const { taskType, title, ...others } = options;
  for (const name of Object.keys(others)) drop(name);
  return {
    ...(taskType === undefined ? {} : { task_type: taskType }),
    ...(title === undefined ? {} : { title }),
  };
}

function sizeOption(body: JsonObject): JsonObject {
  const outputDimensionality = dimensionsOf(body);
  return outputDimensionality === null ? {} : { outputDimensionality };
}

function promptTokens(usage: Json | undefined): number | null {
  const tokens = objectOf(usage)?.["promptTokenCount"];
  return isTokenCount(tokens) ? tokens : null;
}

/** Each text has its own count; null unless all of them have one. */
function statedTokens(predictions: Json | undefined): number | null {
  if (!Array.isArray(predictions)) return null;
  let sum = 0;
  for (const prediction of predictions) {
    const embeddings = objectOf(objectOf(prediction)?.["embeddings"]);
    const tokens = objectOf(embeddings?.["statistics"])?.["token_count"];
    if (!isTokenCount(tokens)) return null;
    sum += tokens;
  }
  return sum;
}
