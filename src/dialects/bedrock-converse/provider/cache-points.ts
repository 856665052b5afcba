import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { CacheControl } from "../../ir/ir.ts";

/** Bedrock's limit per request. The last marks cover the most, so the earliest are removed. */
const maxPoints = 4;

export function cachePoint(cache: CacheControl): JsonObject {
  const { ttl } = cache;
  return { cachePoint: { type: "default", ...(ttl === "5m" || ttl === "1h" ? { ttl } : {}) } };
}

/** Takes the sections in the provider's order: tools, instructions, conversation. Modifies them. */
export function limitCachePoints(...sections: readonly JsonObject[][]): void {
  let surplus = sections.reduce((sum, section) => sum + count(section), -maxPoints);
  for (const section of sections) if (surplus > 0) surplus = removeFrom(section, surplus);
}

function count(blocks: readonly Json[]): number {
  let points = 0;
  for (const block of blocks) {
    if (!isObject(block)) continue;
    points += block["cachePoint"] === undefined ? 0 : 1;
    for (const inner of innerBlocks(block)) points += count(inner);
  }
  return points;
}

/** Removes up to so many points from the front. Returns how many are still too many. */
function removeFrom(blocks: Json[], surplus: number): number {
  let left = surplus;
  for (let at = 0; at < blocks.length && left > 0; at += 1) {
    const block = blocks[at];
    if (!isObject(block)) continue;
    if (block["cachePoint"] === undefined) {
      for (const inner of innerBlocks(block)) left = removeFrom(inner, left);
      continue;
    }
    blocks.splice(at, 1);
    at -= 1;
    left -= 1;
  }
  return left;
}

/** The content of a message, and that of a tool's result. */
function innerBlocks(block: JsonObject): Json[][] {
  const result = block["toolResult"];
  const lists = [block["content"], isObject(result) ? result["content"] : undefined];
  return lists.filter((list) => Array.isArray(list));
}
