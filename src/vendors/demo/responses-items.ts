import { newId } from "../../base/id.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ToolCall } from "./answer.ts";
import { content, eventFrame, framing, type PacedFrame } from "./dialect.ts";
import { piecesOf } from "./pieces.ts";

export function reasoningItem(text: string): JsonObject {
  return { id: newId("rs_"), type: "reasoning", summary: [{ type: "summary_text", text }] };
}

export function messageItem(text: string, truncated: boolean): JsonObject {
  return {
    id: newId("msg_"),
    type: "message",
    status: truncated ? "incomplete" : "completed",
    role: "assistant",
    content: [textPart(text)],
  };
}

export function callItem(call: ToolCall): JsonObject {
  return {
    id: newId("fc_"),
    type: "function_call",
    status: "completed",
    call_id: call.id,
    name: call.name,
    arguments: call.arguments,
  };
}

function textPart(text: string): JsonObject {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

/** The numbered events of one stream, from each item's empty start to its complete end. */
export class ItemStream {
  #sequence = 0;
  #output = 0;

  event(type: string, fields: JsonObject): PacedFrame {
    return framing(this.#frame(type, fields));
  }

  *item(item: JsonObject, pieces: readonly string[]): Generator<PacedFrame> {
    const at = { output_index: this.#output };
    this.#output += 1;
    yield this.event("response.output_item.added", { ...at, item: beginning(item) });
    const body = { ...at, item_id: item["id"] };
    if (item["type"] === "reasoning") yield* this.#reasoning(body, pieces);
    else if (item["type"] === "message") yield* this.#message(body, pieces);
    else yield* this.#call(body, String(item["name"]), String(item["arguments"]));
    yield this.event("response.output_item.done", { ...at, item });
  }

  *#reasoning(body: JsonObject, pieces: readonly string[]): Generator<PacedFrame> {
    const at = { ...body, summary_index: 0 };
    const text = pieces.join("");
    const part = (said: string) => ({ ...at, part: { type: "summary_text", text: said } });
    yield this.event("response.reasoning_summary_part.added", part(""));
    for (const delta of pieces)
      yield this.#content("response.reasoning_summary_text.delta", { ...at, delta });
    yield this.event("response.reasoning_summary_text.done", { ...at, text });
    yield this.event("response.reasoning_summary_part.done", part(text));
  }

  *#message(body: JsonObject, pieces: readonly string[]): Generator<PacedFrame> {
    const at = { ...body, content_index: 0 };
    const text = pieces.join("");
    yield this.event("response.content_part.added", { ...at, part: textPart("") });
    for (const delta of pieces) {
      yield this.#content("response.output_text.delta", { ...at, delta, logprobs: [] });
    }
    yield this.event("response.output_text.done", { ...at, text, logprobs: [] });
    yield this.event("response.content_part.done", { ...at, part: textPart(text) });
  }

  *#call(body: JsonObject, name: string, args: string): Generator<PacedFrame> {
    for (const delta of piecesOf(args)) {
      yield this.#content("response.function_call_arguments.delta", { ...body, delta });
    }
    yield this.event("response.function_call_arguments.done", { ...body, name, arguments: args });
  }

  #content(type: string, fields: JsonObject): PacedFrame {
    return content(this.#frame(type, fields));
  }

  #frame(type: string, fields: JsonObject): string {
    const frame = eventFrame({ type, sequence_number: this.#sequence, ...fields });
    this.#sequence += 1;
    return frame;
  }
}

function beginning(item: JsonObject): JsonObject {
  if (item["type"] === "reasoning") return { ...item, summary: [] };
  const begun: JsonObject = { ...item, status: "in_progress" };
  if (item["type"] === "message") begun["content"] = [];
  else begun["arguments"] = "";
  return begun;
}
