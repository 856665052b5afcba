import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { listOf, stringOf } from "../../json/json-fields.ts";
import type { TurnItem } from "./turn-items.ts";

/** Fields that a client may leave out of a content part, and that a server shows nevertheless. */
const shownFields: Readonly<Record<string, JsonObject | undefined>> = {
  output_text: { annotations: [] },
  input_image: { detail: "auto" },
};

/** The list of these items as JSON. */
export function shownItems(items: readonly TurnItem[]): Uint8Array {
  return Buffer.from(JSON.stringify(items.map(shownItem)));
}

/** Types of items that have a status: messages, calls, and what calls gave. */
const hasStatus = /^message$|_(?:call|output)$/;

/** An item as it was sent, with defaults for fields that clients can omit. */
export function shownItem({ raw, id, type }: TurnItem): Json {
  const item: Json = JSON.parse(Buffer.from(raw).toString());
  if (!isObject(item)) return item;
  const { status, output } = item;
  return {
    ...item,
    id,
    type,
    ...(hasStatus.test(type) ? { status: status ?? "completed" } : {}),
    ...(type === "message" ? { content: shownContent(item) } : {}),
    ...(Array.isArray(output) ? { output: shownParts(output) } : {}),
  };
}

function shownContent({ role, content = null }: JsonObject): Json {
  const text = role === "assistant" ? "output_text" : "input_text";
  return shownParts(typeof content === "string" ? [{ type: text, text: content }] : listOf(content));
}

function shownParts(parts: readonly Json[]): Json[] {
  return parts.map((part) =>
    isObject(part) ? { ...shownFields[stringOf(part["type"]) ?? ""], ...part } : part,
  );
}
