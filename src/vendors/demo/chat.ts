import { newId } from "../../base/id.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { DemoAnswer, DemoUsage, ToolCall } from "./answer.ts";
import { content, type DemoDialect, framing, type PacedFrame } from "./dialect.ts";
import { piecesOf } from "./pieces.ts";
import {
  type DemoRefusal,
  type DemoRequest,
  type DemoTool,
  inputTokensOf,
  noLogprobs,
  objectOr,
  objectsIn,
  textOf,
  textsIn,
  wholeNumberOr,
} from "./request.ts";

/** https://platform.openai.com/docs/api-reference/chat */
export const chat: DemoDialect = {
  read(body: JsonObject): DemoRequest {
    const messages = objectsIn(body["messages"]);
    const last = messages.at(-1);
    const effort = body["reasoning_effort"];
    return {
      model: String(body["model"]),
      stream: body["stream"] === true,
      text: textOf(messages.findLast((message) => message["role"] === "user")?.["content"]),
      toolResult: last?.["role"] === "tool" ? textOf(last["content"]) : null,
      tools: objectsIn(body["tools"]).flatMap(toolOf),
      toolChoice: toolChoiceOf(body["tool_choice"]),
      thinks: typeof effort === "string" && effort !== "none",
      maxTokens: wholeNumberOr(body["max_completion_tokens"], wholeNumberOr(body["max_tokens"], null)),
      stops: textsIn(body["stop"]),
      choices: wholeNumberOr(body["n"], null) ?? 1,
      refusal: refusalOf(body),
      schema: schemaOf(body["response_format"]),
      inputTokens: inputTokensOf(body["messages"], body["tools"]),
      wantsStreamUsage: isObject(body["stream_options"]) && body["stream_options"]["include_usage"] === true,
    };
  },

  whole(answer: DemoAnswer): JsonObject {
    return {
      id: newId("chatcmpl-"),
      object: "chat.completion",
      created: answer.createdSeconds,
      model: answer.request.model,
      choices: indices(answer).map((index) => ({
        index,
        message: messageOf(answer, index),
        logprobs: null,
        finish_reason: finishOf(answer),
      })),
      ...(answer.usage === null ? {} : { usage: usageOf(answer.usage) }),
    };
  },

  *stream(answer: DemoAnswer): Generator<PacedFrame> {
    const { usage } = answer;
    const reportsUsage = answer.request.wantsStreamUsage && usage !== null;
    const head = {
      id: newId("chatcmpl-"),
      object: "chat.completion.chunk",
      created: answer.createdSeconds,
      model: answer.request.model,
    };
    for (const index of indices(answer)) {
      const chunk = (delta: JsonObject, finish: string | null = null) =>
        data({
          ...head,
          choices: [{ index, delta, logprobs: null, finish_reason: finish }],
          ...(reportsUsage ? { usage: null } : {}),
        });
      yield* choice(answer, index, chunk);
    }
    if (reportsUsage) yield framing(data({ ...head, choices: [], usage: usageOf(usage) }));
    yield framing("data: [DONE]\n\n");
  },

  error: (status, message, refusal) => ({
    error: {
      message,
      type: status < 500 ? "invalid_request_error" : "server_error",
      param: refusal?.param ?? null,
      code: refusal?.code ?? null,
    },
  }),

  errorFrame: (message) => data({ error: { message, type: "server_error", param: null, code: null } }),
};

type Chunk = (delta: JsonObject, finish?: string | null) => string;

function* choice(answer: DemoAnswer, index: number, chunk: Chunk): Generator<PacedFrame> {
  const call = callOf(answer, index);
  yield framing(chunk({ role: "assistant", content: "" }));
  for (const piece of answer.thinking) yield content(chunk({ reasoning_content: piece }));
  for (const piece of answer.text) yield content(chunk({ content: piece }));
  if (call !== null) {
    const named = { id: call.id, type: "function", function: { name: call.name, arguments: "" } };
    yield framing(chunk({ tool_calls: [{ index: 0, ...named }] }));
    for (const piece of piecesOf(call.arguments)) {
      yield content(chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }));
    }
  }
  yield framing(chunk({}, finishOf(answer)));
}

function messageOf(answer: DemoAnswer, index: number): JsonObject {
  const { thinking, text } = answer;
  const call = callOf(answer, index);
  const message: JsonObject = {
    role: "assistant",
    content: call === null ? text.join("") : null,
    refusal: null,
  };
  if (thinking.length > 0) message["reasoning_content"] = thinking.join("");
  if (call !== null) {
    message["tool_calls"] = [
      { id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } },
    ];
  }
  return message;
}

function indices({ request }: DemoAnswer): number[] {
  return Array.from({ length: request.choices }, (_, index) => index);
}

/** All choices say the same, but two calls never have the same id. */
function callOf({ call }: DemoAnswer, index: number): ToolCall | null {
  return call === null || index === 0 ? call : { ...call, id: newId("call_") };
}

/** As many as OpenAI takes. */
const mostChoices = 128;

function refusalOf({ n, logprobs, top_logprobs: topLogprobs }: JsonObject): DemoRefusal | null {
  const code = "unsupported_parameter";
  const choices = wholeNumberOr(n, null) ?? 1;
  if (choices < 1 || choices > mostChoices) {
    return { message: `The demo gives 1 to ${mostChoices} choices.`, param: "n", code };
  }
  const asksForThem = logprobs === true || (wholeNumberOr(topLogprobs, null) ?? 0) > 0;
  return asksForThem ? noLogprobs("logprobs") : null;
}

function data(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function finishOf({ call, truncated }: DemoAnswer): string {
  if (call !== null) return "tool_calls";
  return truncated ? "length" : "stop";
}

function usageOf({ input, output, thinking }: DemoUsage): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: thinking },
  };
}

function toolOf(tool: JsonObject): DemoTool[] {
  const { function: it } = tool;
  if (!isObject(it) || typeof it["name"] !== "string") return [];
  return [{ name: it["name"], schema: objectOr(it["parameters"], {}) }];
}

function toolChoiceOf(choice: Json | undefined): string {
  if (choice === "required") return "any";
  if (typeof choice === "string") return choice;
  const named = isObject(choice) && isObject(choice["function"]) ? choice["function"]["name"] : null;
  return typeof named === "string" ? named : "auto";
}

function schemaOf(format: Json | undefined): JsonObject | null {
  if (!isObject(format) || format["type"] === "text") return null;
  const named = objectOr(format["json_schema"], {});
  return objectOr(named["schema"], {});
}
