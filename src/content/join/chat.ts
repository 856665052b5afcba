import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { addByIndex, type Growing, grow } from "./growing.ts";

const joinedMembers = new Set(["choices", "usage", "error"]);

/** Chunks of a chat completion, or of a text completion, whose choices have a `text` in place of a `delta`. */
export class ChatJoiner {
  #head: JsonObject | null = null;
  readonly #choices: Growing[] = [];
  #usage: Json = null;
  #error: Json = null;

  add(event: JsonObject): void {
    const { choices, usage, error } = event;
    if (error !== undefined) this.#error = error;
    if (usage !== undefined && usage !== null) this.#usage = usage;
    if (Array.isArray(choices)) for (const choice of choices) if (isObject(choice)) this.#addChoice(choice);
    if (error === undefined || this.#head === null) this.#addHead(event);
  }

  /** Nearly all events have the same members as the first, so only new ones are copied. */
  #addHead(event: JsonObject): void {
    this.#head ??= Object.create(null) as JsonObject;
    for (const name in event)
      if (!(name in this.#head) && !joinedMembers.has(name)) this.#head[name] = event[name];
  }

  #addChoice({ index, delta, ...rest }: JsonObject): void {
    const at = typeof index === "number" ? index : 0;
    const choice = addByIndex(this.#choices, at, { index: at });
    if (isObject(delta)) grow(choice, { message: delta });
    grow(choice, rest);
  }

  joined(): Json {
    if (this.#head === null) return null;
    const { object, ...head } = this.#head;
    const isChat = object === "chat.completion.chunk";
    return {
      ...head,
      ...(object === undefined ? {} : { object: isChat ? "chat.completion" : object }),
      ...(this.#choices.length === 0 ? {} : { choices: this.#choices.filter(Boolean).map(wholeChoice) }),
      ...(this.#usage === null ? {} : { usage: this.#usage }),
      ...(this.#error === null ? {} : { error: this.#error }),
    };
  }
}

/** A whole message has its tool calls without their places, and a content. */
function wholeChoice(choice: JsonObject): JsonObject {
  const { message } = choice;
  if (!isObject(message)) return choice;
  const { tool_calls: calls } = message;
  const withContent = { ...message, content: message["content"] ?? null };
  if (!Array.isArray(calls)) return { ...choice, message: withContent };
  const listed = calls.map((call) => (isObject(call) ? withoutIndex(call) : call));
  return { ...choice, message: { ...withContent, tool_calls: listed } };
}

function withoutIndex({ index: _, ...rest }: JsonObject): JsonObject {
  return rest;
}
