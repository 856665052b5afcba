import { isObject, type JsonObject } from "../../../base/json.ts";
import { objectOf } from "../../json/json-fields.ts";
import { isTokenCount } from "../../usage/usage-figures.ts";
import { dimensionsOf, dropOthers, inputTypeOf, textsOf } from "./request.ts";
import { type Vector, vectorsOf, writtenFormat } from "./vectors.ts";

/** https://docs.cohere.com/reference/embed: it bills tokens, and images by the piece. */
export const cohereEmbeddings = writtenFormat(
  {
    dialect: "chat",
    method: () => "embed",
    mostInputs: () => 96,
    write: (body, { model }, dropped) => ({ model, ...cohereTexts(body, dropped) }),
  },
  (answer, counted) => {
    const billed = objectOf(objectOf(answer["meta"])?.["billed_units"]);
    const { input_tokens: tokens, images } = billed ?? {};
    return {
      vectors: cohereVectors(answer),
      tokens: isTokenCount(tokens) ? tokens : counted,
      ...(isTokenCount(images) ? { images } : {}),
    };
  },
);

export function cohereTexts(body: JsonObject, dropped: Set<string>): JsonObject {
  dropOthers(body, ["input_type", "truncate"], dropped);
  const dimensions = dimensionsOf(body);
  return {
    texts: [...textsOf(body)],
    input_type: inputTypeOf(body),
    embedding_types: ["float"],
    ...(body["truncate"] === undefined ? {} : { truncate: body["truncate"] }),
    ...(dimensions === null ? {} : { output_dimension: dimensions }),
  };
}

/** By type where types were asked for, and a bare list in older versions. */
export function cohereVectors({ embeddings }: JsonObject): readonly Vector[] {
  return vectorsOf(isObject(embeddings) ? embeddings["float"] : embeddings, () => undefined);
}
