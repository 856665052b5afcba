import { isObject, type Json, type JsonObject } from "../../../base/json.ts";

/** Anthropic's limit per request. The last marks cover the most, so the earliest are removed. */
const maxMarks = 4;

/** Takes the sections in the provider's order: tools, instructions, conversation. Modifies the blocks. */
export function limitCacheMarks(...sections: readonly (readonly JsonObject[])[]): void {
  const marked: JsonObject[] = [];
  for (const section of sections) collectMarked(section, marked);
  for (const block of marked.slice(0, -maxMarks)) delete block["cache_control"];
}

function collectMarked(blocks: readonly Json[], marked: JsonObject[]): void {
  for (const block of blocks) {
    if (!isObject(block)) continue;
    if (Array.isArray(block["content"])) collectMarked(block["content"], marked);
    if (block["cache_control"] !== undefined) marked.push(block);
  }
}
