import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { addByIndex, type Growing, grow } from "./growing.ts";

const terminals = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** The member of an item that a delta belongs to, where the item has no parts. */
const itemMembers: Readonly<Record<string, string>> = {
  "response.function_call_arguments.delta": "arguments",
  "response.mcp_call_arguments.delta": "arguments",
  "response.custom_tool_call_input.delta": "input",
  "response.code_interpreter_call_code.delta": "code",
};

/** The list of parts, and their type, that a delta belongs to. */
const partLists: Readonly<Record<string, readonly [list: string, type: string, member: string]>> = {
  "response.output_text.delta": ["content", "output_text", "text"],
  "response.refusal.delta": ["content", "refusal", "refusal"],
  "response.reasoning_text.delta": ["content", "reasoning_text", "text"],
  "response.reasoning_summary_text.delta": ["summary", "summary_text", "text"],
};

/** Events of OpenAI's Responses API. The last one repeats the whole response; without it, the items are put together. */
export class ResponsesJoiner {
  #response: JsonObject | null = null;
  #isComplete = false;
  readonly #items: Growing[] = [];
  #error: Json = null;

  add(event: JsonObject): void {
    const { type, response, item, output_index: index } = event;
    const at = typeof index === "number" ? index : 0;
    if (typeof type !== "string") return;
    if (isObject(response)) {
      this.#response = response;
      this.#isComplete = terminals.has(type);
    } else if (type === "response.output_item.added" && isObject(item))
      addByIndex(this.#items, at, structuredClone(item));
    else if (type === "response.output_item.done" && isObject(item)) {
      addByIndex(this.#items, at, {});
      this.#items[at] = item;
    } else if (type === "error") this.#error = event["error"] ?? event;
    else if (typeof event["delta"] === "string") this.#addDelta(type, event, at, event["delta"]);
  }

  #addDelta(type: string, event: JsonObject, at: number, delta: string): void {
    const member = itemMembers[type];
    const parts = partLists[type];
    if (member !== undefined) grow(addByIndex(this.#items, at, {}), { [member]: delta });
    if (parts === undefined) return;
    const item = addByIndex(this.#items, at, {});
    const [list, partType, name] = parts;
    const known = item[list];
    const all = Array.isArray(known) ? known : [];
    item[list] = all;
    const place = event[list === "summary" ? "summary_index" : "content_index"];
    const part = addByIndex(all as Growing[], typeof place === "number" ? place : 0, {
      type: partType,
      [name]: "",
    });
    grow(part, { [name]: delta });
  }

  joined(): Json {
    const error = this.#error === null ? {} : { error: this.#error };
    const items = this.#items.filter(Boolean);
    if (this.#response === null)
      return items.length === 0 && this.#error === null ? null : { output: items, ...error };
    const { output } = this.#response;
    const isThere = this.#isComplete && Array.isArray(output) && output.length >= items.length;
    return { ...this.#response, ...(isThere ? {} : { output: items }), ...error };
  }
}
