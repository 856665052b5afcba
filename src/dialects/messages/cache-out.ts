import { isObject, type JsonObject } from "../../base/json.ts";

/** Anthropic takes four marks in a request; the last ones cover the most, so the earliest go. */
const maxMarks = 4;

/** In the order in which the provider reads them: tools, instructions, conversation. Changes the blocks. */
export function limitCacheMarks(...sections: readonly (readonly JsonObject[])[]): void {
  const marked = sections.flatMap((section) => section.flatMap(markedIn));
  for (const block of marked.slice(0, -maxMarks)) delete block["cache_control"];
}

function markedIn(block: JsonObject): JsonObject[] {
  const { content } = block;
  const inside = Array.isArray(content) ? content.filter(isObject).flatMap(markedIn) : [];
  return block["cache_control"] === undefined ? inside : [...inside, block];
}
