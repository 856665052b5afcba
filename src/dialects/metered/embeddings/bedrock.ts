import { isTokenCount } from "../../usage/usage-figures.ts";
import { cohereTexts, cohereVectors } from "./cohere.ts";
import { dimensionsOf, dropOthers, refuseDimensions, textsOf } from "./request.ts";
import { vectorOf, writtenFormat } from "./vectors.ts";

/** Amazon's own models, which take one text. https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html */
export const titanEmbeddings = writtenFormat(
  {
    dialect: "converse",
    method: () => "invoke",
    mostInputs: () => 1,
    write(body, { name }, dropped) {
      dropOthers(body, [], dropped);
      refuseDimensions(body, name, /text-v[2-9]/.test(name) ? [256, 512, 1024] : []);
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
    mostInputs: () => 96,
    write(body, { name }, dropped) {
      if (!/embed-v[4-9]/.test(name)) refuseDimensions(body, name);
      return cohereTexts(body, dropped);
    },
  },
  (answer, counted) => ({ vectors: cohereVectors(answer), tokens: counted }),
);
