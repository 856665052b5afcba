import { isObject, type JsonObject } from "../../base/json.ts";
import { isPrivateAddress } from "../../wire/private-address.ts";
import { type ModelDescription, tokensIn, type VendorModel } from "../model-list.ts";

/** Ollama lists names only, and describes each model by an API of its own. Other servers on one's own machines have no such path. */
export const ollamaModel: ModelDescription = {
  url: ({ baseUrl }) =>
    isPrivateAddress(baseUrl) && baseUrl.endsWith("/v1") ? `${baseUrl.slice(0, -3)}/api/show` : null,
  body: (model) => ({ model }),
  read(body) {
    const contextWindow = configuredWindow(body) ?? trainedWindow(body);
    const { capabilities } = body;
    const isEmbedding = Array.isArray(capabilities) && capabilities.includes("embedding");
    const serves: Pick<VendorModel, "serves"> = isEmbedding ? { serves: ["embeddings"] } : {};
    return { ...(contextWindow === null ? {} : { contextWindow }), ...serves };
  },
};

/** What the model's own file sets, in lines such as `num_ctx 8192`. */
function configuredWindow({ parameters }: JsonObject): number | null {
  const [, tokens] = /^num_ctx\s+(\d{1,9})$/m.exec(typeof parameters === "string" ? parameters : "") ?? [];
  return tokens === undefined ? null : tokensIn(Number(tokens));
}

/** Named after the model's architecture: `llama.context_length`. */
function trainedWindow({ model_info: info }: JsonObject): number | null {
  if (!isObject(info)) return null;
  const name = Object.keys(info).find((each) => each.endsWith(".context_length"));
  return name === undefined ? null : tokensIn(info[name]);
}
