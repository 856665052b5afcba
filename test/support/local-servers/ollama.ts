import type { JsonObject } from "../../../src/base/json.ts";
import { type Answer, json, sse } from "../answers.ts";
import type { SeenRequest } from "../provider.ts";
import { llamaText } from "./llama-server.ts";

/* Ollama of August 2026 as it answers: it runs llama-server itself, and passes the text of that one's errors on as its message. */

interface OllamaModel {
  readonly capabilities: readonly string[];
  /** What the model was trained for. */
  readonly trained: number;
  /** `num_ctx` in the model's file. */
  readonly numCtx?: number;
  /** The window it runs with; absent if it is not loaded. */
  readonly running?: number;
}

export const ollamaUsage = { input: 31, output: 7 };

export function ollama(models: Readonly<Record<string, OllamaModel>>): (request: SeenRequest) => Answer {
  return ({ path, body }) => {
    const name = String(body["model"]);
    const found = models[name] ?? models[`${name}:latest`];
    if (path === "/v1/models") return list(Object.keys(models));
    if (path === "/api/ps") return running(models);
    if (found === undefined) {
      const message = `model '${name}' not found`;
      return path.startsWith("/api/") ? json({ error: message }, { status: 404 }) : failure(404, message);
    }
    return path === "/api/show" ? shown(found) : generated(path, body, found);
  };
}

function generated(path: string, body: JsonObject, { capabilities }: OllamaModel): Answer {
  if (path === "/v1/embeddings") {
    const message = "This model does not support embeddings";
    return capabilities.includes("embedding") ? embedding() : failure(501, message);
  }
  if (JSON.stringify(body).includes('"image_url"') && !capabilities.includes("vision")) {
    const hint = "hint: if this is unexpected, you may need to provide the mmproj";
    const error = { code: 500, message: `image input is not supported - ${hint}`, type: "server_error" };
    return failure(500, JSON.stringify({ error }));
  }
  const thinks = capabilities.includes("thinking") && body["reasoning_effort"] !== "none";
  return body["stream"] === true ? chatStream(thinks) : chat(thinks);
}

function failure(status: number, message: string): Answer {
  const type = status === 404 ? "not_found_error" : status === 400 ? "invalid_request_error" : "api_error";
  return json({ error: { message, type, param: null, code: null } }, { status });
}

function list(names: readonly string[]): Answer {
  const data = names.map((id) => ({ id, object: "model", created: 1795040362, owned_by: "library" }));
  return json({ object: "list", data });
}

function running(models: Readonly<Record<string, OllamaModel>>): Answer {
  const loaded = Object.entries(models).flatMap(([name, { running: window }]) => {
    const sizes = { size: 4_620_000_000, size_vram: 0, expires_at: "2026-11-18T23:59:59Z" };
    return window === undefined
      ? []
      : [{ name, model: name, digest: "ab", ...sizes, context_length: window }];
  });
  return json({ models: loaded });
}

function shown({ capabilities, trained, numCtx }: OllamaModel): Answer {
  const parameters = numCtx === undefined ? {} : { parameters: `num_ctx                        ${numCtx}\n` };
  const info = { "general.architecture": "llama", "llama.context_length": trained };
  return json({ ...parameters, model_info: info, capabilities: [...capabilities] });
}

function embedding(): Answer {
  const data = [{ object: "embedding", index: 0, embedding: [0.1, 0.2] }];
  return json({ object: "list", data, model: "m", usage: { prompt_tokens: 3, total_tokens: 3 } });
}

const stamp = { id: "chatcmpl-42", created: 1795040362, model: "m", system_fingerprint: "fp_ollama" };
const usage = {
  prompt_tokens: ollamaUsage.input,
  completion_tokens: ollamaUsage.output,
  total_tokens: ollamaUsage.input + ollamaUsage.output,
};

function chat(thinks: boolean): Answer {
  const message = { role: "assistant", content: llamaText, ...(thinks ? { reasoning: "Hm." } : {}) };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return json({ ...stamp, object: "chat.completion", choices, usage });
}

function chatStream(thinks: boolean): Answer {
  const chunk = (choices: JsonObject[], more: JsonObject = {}) =>
    `data: ${JSON.stringify({ ...stamp, object: "chat.completion.chunk", choices, ...more })}\n\n`;
  const delta = (delta: JsonObject, finish: string | null = null) =>
    chunk([{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: finish }]);
  const words = llamaText.match(/\s*\S+/g) ?? [];
  return sse(
    [
      ...(thinks ? [delta({ content: "", reasoning: "Hm." })] : []),
      ...words.map((content) => delta({ content })),
      delta({ content: "" }, "stop"),
      chunk([], { usage }),
      "data: [DONE]\n\n",
    ].join(""),
  );
}
