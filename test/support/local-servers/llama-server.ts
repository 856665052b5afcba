import type { JsonObject } from "../../../src/base/json.ts";
import { type Answer, json, sse } from "../answers.ts";
import type { SeenRequest } from "../provider.ts";

/*
 * llama-server as it answers, recorded from build 11549 with a toy model and a window of 1,024 tokens for each of two slots.
 * Its ids, times and timings are constant here.
 */

interface LlamaServer {
  /** The key that it was started with; null for none. */
  readonly key?: string | null;
  /** It still reads the model from disk. */
  readonly isLoading?: boolean;
  /** Router mode, with these models; the value says whether it is loaded. */
  readonly router?: Readonly<Record<string, boolean>>;
}

export const llamaWindow = 1024;
export const llamaModel = "tiny.gguf";
/** What it writes to everything. */
export const llamaText = "Sluices keep the canal navigable.";
export const llamaUsage = { input: 29, output: 7 };

const usage = {
  completion_tokens: llamaUsage.output,
  prompt_tokens: llamaUsage.input,
  total_tokens: llamaUsage.input + llamaUsage.output,
  prompt_tokens_details: { cached_tokens: 28 },
};
const timings = { cache_n: 28, prompt_n: 1, prompt_ms: 0.5, predicted_n: 7, predicted_ms: 1.1 };
const stamp = { created: 1795040362, model: llamaModel, system_fingerprint: "b11549-0000000" };
const id = "chatcmpl-sNnVZUpDHlS1VgRtgAfBKz11lX224SmG";

export function llamaServer(server: LlamaServer = {}): (request: SeenRequest) => Answer {
  return (request) => {
    const { path, headers } = request;
    const { key = null, isLoading = false, router } = server;
    if (key !== null && headers["authorization"] !== `Bearer ${key}`)
      return failure(401, "authentication_error", "Invalid API Key");
    if (isLoading) return failure(503, "unavailable_error", "Loading model");
    const { body } = request;
    const [pathname = "", query = ""] = path.split("?");
    if (pathname === "/v1/models") return json(router === undefined ? modelList() : routerList(router));
    if (pathname === "/props") return props(new URLSearchParams(query), router);
    const named = String(body["model"]);
    if (router !== undefined && router[named] === undefined)
      return failure(400, "invalid_request_error", `model '${named}' not found`);
    return generationOf(pathname, body);
  };
}

function generationOf(path: string, body: JsonObject): Answer {
  const text = JSON.stringify(body);
  if (text.includes('"image_url"') || text.includes('"input_image"') || text.includes('"type":"image"')) {
    const hint = "hint: if this is unexpected, you may need to provide the mmproj";
    return failure(500, "server_error", `image input is not supported - ${hint}`);
  }
  if (text.length > 4 * llamaWindow) return overflow(Math.ceil(text.length / 4));
  switch (path) {
    case "/v1/chat/completions":
      return body["stream"] === true ? chatStream() : chat();
    case "/v1/responses/input_tokens":
      return json({ input_tokens: llamaUsage.input, object: "response.input_tokens" });
    case "/v1/messages/count_tokens":
      return json({ input_tokens: llamaUsage.input });
    case "/v1/embeddings":
      return failure(
        501,
        "not_supported_error",
        "This server does not support embeddings. Start it with `--embeddings`",
      );
    default:
      return failure(404, "not_found_error", "File Not Found");
  }
}

export function failure(status: number, type: string, message: string, more: JsonObject = {}): Answer {
  return json({ error: { code: status, message, type, ...more } }, { status });
}

function overflow(tokens: number): Answer {
  const message = `request (${tokens} tokens) exceeds the available context size (${llamaWindow} tokens), try increasing it`;
  const numbers = { n_prompt_tokens: tokens, n_ctx: llamaWindow };
  return failure(400, "exceed_context_size_error", message, numbers);
}

function chat(): Answer {
  const message = { role: "assistant", content: llamaText };
  const choices = [{ finish_reason: "stop", index: 0, message }];
  return json({ choices, ...stamp, object: "chat.completion", usage, id, timings });
}

/** The head leaves with the first token, whose chunk has `content: null`. */
function chatStream(): Answer {
  const chunk = (choices: JsonObject[], more: JsonObject = {}) =>
    `data: ${JSON.stringify({ choices, ...stamp, id, object: "chat.completion.chunk", ...more })}\n\n`;
  const delta = (delta: JsonObject, finish: string | null = null) =>
    chunk([{ finish_reason: finish, index: 0, delta }]);
  const words = llamaText.match(/\s*\S+/g) ?? [];
  return sse(
    [
      delta({ role: "assistant", content: null }),
      ...words.map((content) => delta({ content })),
      delta({}, "stop"),
      chunk([], { usage, timings }),
      "data: [DONE]\n\n",
    ].join(""),
    { headers: { "x-accel-buffering": "no" } },
  );
}

const architecture = { input_modalities: ["text"], output_modalities: ["text"] };
const meta = {
  ...{ vocab_type: 1, n_vocab: 320, n_ctx: llamaWindow, n_ctx_train: 4096, n_embd: 64 },
  ...{ n_params: 123200, size: 492800, ftype: "unknown" },
};

function listed(model: string, more: JsonObject): JsonObject {
  const owned = { object: "model", created: stamp.created, owned_by: "llamacpp" };
  return { id: model, aliases: [model], tags: [], ...owned, architecture, ...more };
}

function modelList(): JsonObject {
  return { models: [], object: "list", data: [listed(llamaModel, { meta })] };
}

/** `context_length` is the sum of all slots, as in the arguments. */
function routerList(models: Readonly<Record<string, boolean>>): JsonObject {
  const data = Object.entries(models).map(([model, isLoaded]) => {
    const status = { value: isLoaded ? "loaded" : "unloaded", args: ["--ctx-size", "2048"] };
    return listed(model, { status, context_length: 2 * llamaWindow, ...(isLoaded ? { meta } : {}) });
  });
  return { data, object: "list" };
}

/** The router loads a model to describe it, unless `autoload` says no. */
function props(query: URLSearchParams, router: LlamaServer["router"]): Answer {
  const model = query.get("model");
  if (router !== undefined && model === null) {
    return json({ role: "router", default_generation_settings: { params: null, n_ctx: 0 } });
  }
  if (router !== undefined && router[model ?? ""] !== true) {
    const isKnown = router[model ?? ""] !== undefined;
    return failure(
      400,
      "invalid_request_error",
      isKnown ? "model is not loaded" : `model '${model}' not found`,
    );
  }
  return json({ default_generation_settings: { params: {}, n_ctx: llamaWindow }, total_slots: 2 });
}
