import { newId } from "../../base/id.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { noUsage, type Usage } from "../../base/usage.ts";
import {
  type ResponseProgress,
  requestEcho,
  responseHead,
} from "../../dialects/openai-responses/client/envelope-out.ts";
import type { DemoAnswer } from "./answer.ts";
import type { DemoDialect, PacedFrame } from "./dialect.ts";
import {
  type DemoRefusal,
  type DemoRequest,
  inputTokensOf,
  noLogprobs,
  objectOr,
  objectsIn,
  textOf,
  textsIn,
  wholeNumberOr,
} from "./request.ts";
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
      stops: [],
      choices: 1,
      refusal: refusalOf(body, items),
      schema: schemaOf(body["text"]),
      inputTokens: inputTokensOf(body["instructions"], input, body["tools"]),
      wantsStreamUsage: true,
      echo: requestEcho(body, String(body["model"])),
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

  error: (status, message, refusal) => ({
    error: {
      message,
      type: status < 500 ? "invalid_request_error" : "server_error",
      param: refusal?.param ?? null,
      code: refusal?.code ?? null,
    },
  }),

  errorFrame: (message) =>
    `event: error\ndata: ${JSON.stringify({ type: "error", code: "server_error", message, param: null })}\n\n`,
};

/** What an earlier answer was, or a template says, is stored nowhere. */
function refusalOf(body: JsonObject, items: readonly JsonObject[]): DemoRefusal | null {
  const stored = ["previous_response_id", "conversation", "prompt"].find(
    (name) => (body[name] ?? null) !== null,
  );
  if (stored !== undefined) {
    const code = stored === "previous_response_id" ? "previous_response_not_found" : "unsupported_parameter";
    const message = `The demo stores nothing that \`${stored}\` could name; send the whole conversation.`;
    return { message, param: stored, code };
  }
  const reference = items.findIndex((item) => item["type"] === "item_reference");
  if (reference !== -1) {
    const message = "The demo stores no items; send the item itself.";
    return { message, param: `input[${reference}]`, code: "unsupported_parameter" };
  }
  if ((wholeNumberOr(body["top_logprobs"], null) ?? 0) > 0) return noLogprobs("top_logprobs");
  const wanted = textsIn(body["include"]).some((name) => name === "message.output_text.logprobs");
  return wanted ? noLogprobs("include") : null;
}

function itemsOf(answer: DemoAnswer): JsonObject[] {
  const items: JsonObject[] = [];
  if (answer.thinking.length > 0) items.push(reasoningItem(answer.thinking.join("")));
  if (answer.call === null) items.push(messageItem(answer.text.join(""), answer.truncated));
  else items.push(callItem(answer.call));
  return items;
}

function closing(id: string, answer: DemoAnswer, output: JsonObject[]): JsonObject {
  return responseOf(id, answer, answer.truncated ? "incomplete" : "completed", output);
}

function responseOf(
  id: string,
  answer: DemoAnswer,
  status: ResponseProgress["status"],
  output: JsonObject[],
): JsonObject {
  const { createdSeconds, request } = answer;
  const isCompleted = status === "completed";
  const head = responseHead(id, createdSeconds, {
    status,
    completedAtSeconds: isCompleted ? Math.max(createdSeconds, Math.floor(Date.now() / 1000)) : null,
    incomplete: status === "incomplete" ? "max_output_tokens" : null,
    error: null,
    usage: usageOf(answer),
    serviceTier: null,
  });
  // A demo that was asked to report no usage does not report zeros either.
  const usage = answer.usage === null ? { usage: null } : {};
  return { ...head, ...usage, output, ...request.echo };
}

function usageOf({ usage }: DemoAnswer): Usage | null {
  if (usage === null) return null;
  return {
    ...noUsage,
    inputTokens: usage.input,
    outputTokens: usage.output,
    reasoningTokens: usage.thinking,
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
