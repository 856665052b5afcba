import { isObject, type JsonObject } from "../../base/json.ts";
import { isPrivateAddress } from "../../wire/local-address.ts";
import { type ModelDescription, type ModelDetails, tokensIn, type VendorModel } from "../model-list.ts";
import type { ProviderSettings } from "../provider.ts";

/** An address of a local server's own API, which is next to OpenAI's; null if there is none. */
function ownApi({ baseUrl }: ProviderSettings, path: string): string | null {
  return isPrivateAddress(baseUrl) && baseUrl.endsWith("/v1") ? `${baseUrl.slice(0, -3)}${path}` : null;
}

/** Ollama and LM Studio have no keys. llama.cpp's list shows what it is, and it lacks their paths. */
function keylessApi(
  settings: ProviderSettings,
  models: readonly Pick<VendorModel, "server">[],
  path: string,
): string | null {
  const isOther = settings.apiKeys.length > 0 || models.some(({ server }) => server === "llamacpp");
  return isOther ? null : ownApi(settings, path);
}

const windowIn = (contextWindow: number | null): Partial<VendorModel> =>
  contextWindow === null ? {} : { contextWindow };

/** LM Studio's own list has the windows. https://lmstudio.ai/docs/developer/rest/endpoints */
const lmStudioModels: ModelDetails = {
  url: (settings, models) => keylessApi(settings, models, "/api/v0/models"),
  read: ({ data }) => new Map((Array.isArray(data) ? data : []).flatMap(lmStudioModel)),
};

function lmStudioModel(listed: unknown): [string, Partial<VendorModel>][] {
  if (!isObject(listed) || typeof listed["id"] !== "string") return [];
  // A loaded model can have a smaller window than its maximum.
  const contextWindow = tokensIn(listed["loaded_context_length"]) ?? tokensIn(listed["max_context_length"]);
  const isEmbedding = listed["type"] === "embeddings";
  const serves: Pick<VendorModel, "serves"> = isEmbedding ? { serves: ["embeddings"] } : {};
  return [[listed["id"], { ...windowIn(contextWindow), ...serves }]];
}

/** Ollama's loaded models, with the windows that they run with. */
const ollamaRunning: ModelDetails = {
  url: (settings, models) => keylessApi(settings, models, "/api/ps"),
  read: ({ models }) =>
    new Map(
      (Array.isArray(models) ? models : []).flatMap((running) => {
        const name = isObject(running) ? running["name"] : null;
        if (!isObject(running) || typeof name !== "string") return [];
        const loaded = { server: "ollama", ...windowIn(tokensIn(running["context_length"])) } as const;
        return [[name, loaded] as const];
      }),
    ),
};

/** Ollama lists names only, and describes each model through its own API. */
const ollamaModel: ModelDescription = {
  url(settings, model) {
    const isOther = model.contextWindow !== null && model.server !== "ollama";
    return isOther ? null : keylessApi(settings, [model], "/api/show");
  },
  body: (model) => ({ model }),
  read: (body, { contextWindow }) => ({
    ...windowIn(contextWindow ?? configuredWindow(body)),
    ...abilitiesIn(body),
  }),
};

/**
 * The context window in the model's own file, in lines such as `num_ctx 8192`. Without one, Ollama chooses by its
 * memory, which the model's training length does not reveal.
 */
function configuredWindow({ parameters }: JsonObject): number | null {
  const [, tokens] = /^num_ctx\s+(\d{1,9})$/m.exec(typeof parameters === "string" ? parameters : "") ?? [];
  return tokens === undefined ? null : tokensIn(Number(tokens));
}

function abilitiesIn({ capabilities }: JsonObject): Pick<VendorModel, "serves" | "capabilities"> {
  if (!Array.isArray(capabilities)) return {};
  if (capabilities.includes("embedding")) return { serves: ["embeddings"] };
  const can = (ability: string) => capabilities.includes(ability);
  const thinks = can("thinking");
  const reasoning = { reasoning: thinks, ...(thinks ? { effort_none: true } : {}) };
  return { capabilities: { tools: can("tools"), vision: can("vision"), ...reasoning } };
}

/** A router's list has no window of a model that is not loaded, and `autoload=false` keeps it so. */
const llamaProperties: ModelDescription = {
  url(settings, { id, server, contextWindow }) {
    if (server !== "llamacpp" || contextWindow !== null) return null;
    return ownApi(settings, `/props?model=${encodeURIComponent(id)}&autoload=false`);
  },
  read: ({ default_generation_settings: usual }) =>
    windowIn(isObject(usual) ? tokensIn(usual["n_ctx"]) : null),
};

export const localLists: readonly ModelDetails[] = [lmStudioModels, ollamaRunning];
export const localDescriptions: readonly ModelDescription[] = [ollamaModel, llamaProperties];
