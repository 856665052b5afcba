import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { CacheControl } from "../../ir/ir.ts";
import { innerLists, surplusMarks } from "../../target/mark-cache.ts";

export function cachePoint(cache: CacheControl): JsonObject {
  const { ttl } = cache;
  return { cachePoint: { type: "default", ...(ttl === "5m" || ttl === "1h" ? { ttl } : {}) } };
}

/** Takes the sections in the provider's order: tools, instructions, conversation. Modifies them. */
export function limitCachePoints(...sections: readonly JsonObject[][]): void {
  const surplus = new Set<Json | undefined>(surplusMarks(sections.flat(), "cachePoint"));
  if (surplus.size > 0) for (const section of sections) remove(section, surplus);
}

function remove(blocks: Json[], surplus: ReadonlySet<Json | undefined>): void {
  for (let at = blocks.length - 1; at >= 0; at -= 1) {
    const block = blocks[at];
    if (surplus.has(block)) blocks.splice(at, 1);
    else if (isObject(block)) for (const inner of innerLists(block)) remove(inner, surplus);
  }
}
