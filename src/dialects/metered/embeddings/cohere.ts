import { isObject, type JsonObject } from "../../../base/json.ts";
import { objectOf } from "../../json/json-fields.ts";
import { isTokenCount } from "../../usage/reported-usage.ts";
import { meteredDialect } from "../route.ts";
import { dimensionsOf, dropOthers, inputTypeOf, rejectDimensions, textsOf } from "./request.ts";
import { type Vector, vectorOf, vectorsOf, writtenFormat } from "./vectors.ts";

/** https://docs.cohere.com/reference/embed: it bills tokens, and images by the piece. */
export const cohereEmbeddings = writtenFormat(
  {
    dialect: meteredDialect,
    method: () => "embed",
    maxInputs: () => 96,
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

function cohereTexts(body: JsonObject, dropped: Set<string>): JsonObject {
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

/** By type if types were requested; a bare list in older versions. */
function cohereVectors({ embeddings }: JsonObject): readonly Vector[] {
  return vectorsOf(isObject(embeddings) ? embeddings["float"] : embeddings, () => undefined);
}

/** Amazon's own models, which take one text. https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html */
export const titanEmbeddings = writtenFormat(
  {
    dialect: "converse",
    method: () => "invoke",
    maxInputs: () => 1,
    write(body, { name }, dropped) {
      dropOthers(body, [], dropped);
      rejectDimensions(body, name, /text-v[2-9]/.test(name) ? [256, 512, 1024] : []);
      const dimensions = dimensionsOf(body);
      const [inputText = ""] = textsOf(body);
      return { inputText, ...(dimensions === null ? {} : { dimensions }) };
    },
  },
  ({ embedding, inputTextTokenCount: tokens }, counted) => ({
    vectors: [vectorOf(embedding)],
    tokens: isTokenCount(tokens) ? tokens : counted,
  }),
);

/** Only a header has their tokens. Models before the fourth version have vectors of one length. */
export const bedrockCohereEmbeddings = writtenFormat(
  {
    dialect: "converse",
    method: () => "invoke",
    maxInputs: () => 96,
    write(body, { name }, dropped) {
      if (!/embed-v[4-9]/.test(name)) rejectDimensions(body, name);
      return cohereTexts(body, dropped);
    },
  },
  (answer, counted) => ({ vectors: cohereVectors(answer), tokens: counted }),
);
