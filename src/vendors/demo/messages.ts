import { newId } from "../../base/id.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { DemoAnswer } from "./answer.ts";
import { content, type DemoDialect, eventFrame, framing, type PacedFrame } from "./dialect.ts";
import { piecesOf } from "./pieces.ts";
import {
  type DemoRequest,
  inputTokensOf,
  objectOr,
  objectsIn,
  textOf,
  textsIn,
  wholeNumberOr,
} from "./request.ts";

/** Opaque to clients, who only hand it back. */
const signature = "c2x1aWNlLWRlbW8tc2lnbmF0dXJl";

/** https://docs.claude.com/en/api/messages */
export const messages: DemoDialect = {
  read(body: JsonObject): DemoRequest {
    const turns = objectsIn(body["messages"]);
    const lastUser = turns.findLast((turn) => turn["role"] === "user");
    const result = objectsIn(turns.at(-1)?.["content"]).find((block) => block["type"] === "tool_result");
    const thinking = objectOr(body["thinking"], {})["type"];
    return {
      model: String(body["model"]),
      stream: body["stream"] === true,
      text: textOf(lastUser?.["content"]),
      toolResult: result === undefined ? null : textOf(result["content"]),
      tools: objectsIn(body["tools"]).flatMap((tool) =>
        typeof tool["name"] === "string" && isObject(tool["input_schema"])
          ? [{ name: tool["name"], schema: tool["input_schema"] }]
          : [],
      ),
      toolChoice: toolChoiceOf(body["tool_choice"]),
      thinks: thinking === "enabled" || thinking === "adaptive",
      maxTokens: wholeNumberOr(body["max_tokens"], null),
      stops: textsIn(body["stop_sequences"]),
      choices: 1,
      refusal: null,
      schema: schemaOf(body["output_config"]),
      inputTokens: inputTokensOf(body["system"], body["messages"], body["tools"]),
      wantsStreamUsage: true,
    };
  },

  whole(answer: DemoAnswer): JsonObject {
    return {
      ...opening(answer),
      content: blocksOf(answer),
      stop_reason: stopReasonOf(answer),
      stop_sequence: answer.stop,
      ...usageOf(answer, answer.usage?.output ?? 0),
    };
  },

  *stream(answer: DemoAnswer): Generator<PacedFrame> {
    yield framing(eventFrame({ type: "message_start", message: opening(answer) }));
    yield framing(eventFrame({ type: "ping" }));
    let index = 0;
    if (answer.thinking.length > 0) {
      yield* blockOf(index, { type: "thinking", thinking: "", signature: "" }, [
        ...answer.thinking.map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature },
      ]);
      index += 1;
    }
    if (answer.call === null) {
      const deltas = answer.text.map((text) => ({ type: "text_delta", text }));
      yield* blockOf(index, { type: "text", text: "" }, deltas);
    } else {
      const { id, name } = answer.call;
      const deltas = piecesOf(answer.call.arguments).map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      }));
      yield* blockOf(index, { type: "tool_use", id, name, input: {} }, deltas);
    }
    yield framing(
      eventFrame({
        type: "message_delta",
        delta: { stop_reason: stopReasonOf(answer), stop_sequence: answer.stop },
        ...(answer.usage === null ? {} : { usage: { output_tokens: answer.usage.output } }),
      }),
    );
    yield framing(eventFrame({ type: "message_stop" }));
  },

  error: (status, message) => ({ type: "error", error: { type: errorTypeOf(status), message } }),

  errorFrame: (message) => eventFrame({ type: "error", error: { type: "api_error", message } }),
};

function* blockOf(index: number, start: JsonObject, deltas: readonly JsonObject[]): Generator<PacedFrame> {
  yield framing(eventFrame({ type: "content_block_start", index, content_block: start }));
  for (const delta of deltas) yield content(eventFrame({ type: "content_block_delta", index, delta }));
  yield framing(eventFrame({ type: "content_block_stop", index }));
}

function blocksOf({ thinking, text, call }: DemoAnswer): JsonObject[] {
  const thought = { type: "thinking", thinking: thinking.join(""), signature };
  const said: JsonObject =
    call === null
      ? { type: "text", text: text.join("") }
      : { type: "tool_use", id: call.id, name: call.name, input: JSON.parse(call.arguments) };
  return thinking.length > 0 ? [thought, said] : [said];
}

function opening(answer: DemoAnswer): JsonObject {
  return {
    id: newId("msg_"),
    type: "message",
    role: "assistant",
    model: answer.request.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...usageOf(answer, 0),
  };
}

function usageOf({ usage }: DemoAnswer, outputTokens: number): JsonObject {
  if (usage === null) return {};
  return {
    usage: {
      input_tokens: usage.input,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: outputTokens,
    },
  };
}

function stopReasonOf({ call, truncated, stop }: DemoAnswer): string {
  if (call !== null) return "tool_use";
  if (stop !== null) return "stop_sequence";
  return truncated ? "max_tokens" : "end_turn";
}

function toolChoiceOf(choice: Json | undefined): string {
  if (!isObject(choice)) return "auto";
  return choice["type"] === "tool" ? String(choice["name"]) : String(choice["type"]);
}

function schemaOf(config: Json | undefined): JsonObject | null {
  const format = isObject(config) ? config["format"] : undefined;
  return isObject(format) ? objectOr(format["schema"], {}) : null;
}

const errorTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

function errorTypeOf(status: number): string {
  return errorTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}
