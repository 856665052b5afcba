import { newId } from "../../base/id.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { DemoAnswer } from "./answer.ts";
import type { DemoDialect, PacedFrame } from "./dialect.ts";
import { type DemoRequest, inputTokensOf, objectOr, objectsIn, textOf, wholeNumberOr } from "./request.ts";
import { callItem, ItemStream, messageItem, reasoningItem } from "./responses-items.ts";

/** https://platform.openai.com/docs/api-reference/responses */
export const responses: DemoDialect = {
  read(body: JsonObject): DemoRequest {
    const { input } = body;
    const items = objectsIn(input);
    const last = items.at(-1);
    const lastUser = items.findLast((item) => item["role"] === "user");
    const reasoning = objectOr(body["reasoning"], {});
    return {
      model: String(body["model"]),
      stream: body["stream"] === true,
      text: typeof input === "string" ? input : textOf(lastUser?.["content"]),
      toolResult: last?.["type"] === "function_call_output" ? textOf(last["output"]) : null,
      tools: objectsIn(body["tools"]).flatMap((tool) =>
        tool["type"] === "function" && typeof tool["name"] === "string"
          ? [{ name: tool["name"], schema: objectOr(tool["parameters"], {}) }]
          : [],
      ),
      toolChoice: toolChoiceOf(body["tool_choice"]),
      thinks: typeof reasoning["summary"] === "string",
      maxTokens: wholeNumberOr(body["max_output_tokens"], null),
      schema: schemaOf(body["text"]),
      inputTokens: inputTokensOf(body["instructions"], input, body["tools"]),
      wantsStreamUsage: true,
    };
  },

  whole(answer: DemoAnswer): JsonObject {
    return closing(newId("resp_"), answer, itemsOf(answer));
  },

  *stream(answer: DemoAnswer): Generator<PacedFrame> {
    const events = new ItemStream();
    const id = newId("resp_");
    const response = responseOf(id, answer, "in_progress", []);
    yield events.event("response.created", { response });
    yield events.event("response.in_progress", { response });
    const items = itemsOf(answer);
    const pieces = answer.thinking.length > 0 ? [answer.thinking, answer.text] : [answer.text];
    for (const [index, item] of items.entries()) yield* events.item(item, pieces[index] ?? []);
    const end = closing(id, answer, items);
    yield events.event(answer.truncated ? "response.incomplete" : "response.completed", { response: end });
  },

  error: (status, message) => ({
    error: {
      message,
      type: status < 500 ? "invalid_request_error" : "server_error",
      param: null,
      code: null,
    },
  }),

  errorFrame: (message) =>
    `event: error\ndata: ${JSON.stringify({ type: "error", code: "server_error", message, param: null })}\n\n`,
};

function itemsOf(answer: DemoAnswer): JsonObject[] {
  const items: JsonObject[] = [];
  if (answer.thinking.length > 0) items.push(reasoningItem(answer.thinking.join("")));
  if (answer.call === null) items.push(messageItem(answer.text.join(""), answer.truncated));
  else items.push(callItem(answer.call));
  return items;
}

function closing(id: string, answer: DemoAnswer, output: JsonObject[]): JsonObject {
  const { usage, truncated } = answer;
  const response = responseOf(id, answer, truncated ? "incomplete" : "completed", output);
  if (truncated) response["incomplete_details"] = { reason: "max_output_tokens" };
  if (usage === null) return response;
  response["usage"] = {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.thinking },
    total_tokens: usage.input + usage.output,
  };
  return response;
}

function responseOf(id: string, answer: DemoAnswer, status: string, output: JsonObject[]): JsonObject {
  return {
    id,
    object: "response",
    created_at: answer.createdSeconds,
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: answer.request.maxTokens,
    model: answer.request.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    usage: null,
    metadata: {},
  };
}

function toolChoiceOf(choice: Json | undefined): string {
  if (choice === "required") return "any";
  if (typeof choice === "string") return choice;
  return isObject(choice) && typeof choice["name"] === "string" ? choice["name"] : "auto";
}

function schemaOf(text: Json | undefined): JsonObject | null {
  const format = isObject(text) ? text["format"] : undefined;
  if (!isObject(format) || format["type"] === "text") return null;
  return objectOr(format["schema"], {});
}
