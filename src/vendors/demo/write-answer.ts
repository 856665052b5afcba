import { newId } from "../../base/id.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { wantsUsage } from "../../dialects/openai-chat/provider/usage-in.ts";
import { dataFrame } from "../../dialects/sse/sse.ts";
import type { DemoResponse } from "./answer.ts";
import { errorBodyOf } from "./rejection.ts";

/** One frame of a stream. Frames with content are paced, the others are sent at once. */
export interface PacedFrame {
  readonly frame: string;
  readonly content: boolean;
}

/** Writes a response as chat completions, complete or in chunks. All choices are the same. */
export class ResponseWriter {
  readonly #answer: DemoResponse;
  readonly #head: JsonObject;
  /** One for each choice, because two calls never have the same id. */
  readonly #callIds: readonly string[];
  readonly #includesUsage: boolean;

  constructor(body: JsonObject, answer: DemoResponse, choices: number) {
    this.#answer = answer;
    const created = Math.floor(Date.now() / 1000);
    this.#head = { id: newId("chatcmpl-"), created, model: String(body["model"]) };
    this.#callIds = Array.from({ length: choices }, () => newId("call_"));
    this.#includesUsage = answer.usage !== null && wantsUsage(body);
  }

  whole(): JsonObject {
    const { thinking, tool, pieces, finish, usage } = this.#answer;
    const text = pieces.join("");
    const choices = this.#callIds.map((id, index) => ({
      index,
      message: {
        role: "assistant",
        content: tool === null ? text : null,
        refusal: null,
        ...(thinking.length === 0 ? {} : { reasoning_content: thinking.join("") }),
        ...(tool === null ? {} : { tool_calls: [functionCall(id, tool, text)] }),
      },
      logprobs: null,
      finish_reason: finish,
    }));
    const reported = usage === null ? {} : { usage };
    return { ...this.#head, object: "chat.completion", choices, ...reported };
  }

  *frames(): Generator<PacedFrame> {
    const { thinking, tool, pieces, finish, usage } = this.#answer;
    yield this.#frame(() => ({ role: "assistant", content: "" }), false);
    for (const piece of thinking) yield this.#frame(() => ({ reasoning_content: piece }), true);
    if (tool !== null)
      yield this.#frame((id) => ({ tool_calls: [{ index: 0, ...functionCall(id, tool, "") }] }), false);
    for (const piece of pieces) {
      const fragment = { tool_calls: [{ index: 0, function: { arguments: piece } }] };
      yield this.#frame(() => (tool === null ? { content: piece } : fragment), true);
    }
    yield this.#frame(() => ({}), false, finish);
    if (this.#includesUsage) yield { frame: this.#chunk({ choices: [], usage }), content: false };
    yield { frame: dataFrame("[DONE]"), content: false };
  }

  /** An error in the middle of a stream. */
  errorFrame(message: string): string {
    return dataFrame(JSON.stringify(errorBodyOf(500, { message })));
  }

  /** A chunk for each choice. */
  #frame(deltaOf: (callId: string) => JsonObject, content: boolean, finish: Json = null): PacedFrame {
    const chunks = this.#callIds.map((id, index) => {
      const choice = { index, delta: deltaOf(id), logprobs: null, finish_reason: finish };
      return this.#chunk({ choices: [choice], ...(this.#includesUsage ? { usage: null } : {}) });
    });
    return { frame: chunks.join(""), content };
  }

  #chunk(more: JsonObject): string {
    return dataFrame(JSON.stringify({ ...this.#head, object: "chat.completion.chunk", ...more }));
  }
}

function functionCall(id: string, name: string, input: string): JsonObject {
  return { id, type: "function", function: { name, arguments: input } };
}
