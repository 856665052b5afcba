import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { IrRequest } from "../ir/ir.ts";
import type { DroppedFields } from "../translation/dropped-fields.ts";
import { countMarks } from "../translation/mark-cache.ts";

/** A client's cache marks are dropped where the provider caches by itself and takes none. */
export function dropCacheMarks(request: IrRequest, dropped: DroppedFields): void {
  if (countMarks(request) > 0) dropped.add(dropped.names.cacheMark);
}

/** OpenAI's form of a mark, for models that take one. The lifetime is the request's. */
export const cacheBreakpoint = { prompt_cache_breakpoint: { mode: "explicit" } };

/** OpenAI's limit per request. The last ones cover the most, so the earliest are removed. */
const maxBreakpoints = 4;

/**
 * Removes breakpoints beyond the limit from what was written, and reports if not all marks of the request are left: tools
 * and some parts have no place for one.
 */
export function limitBreakpoints(written: readonly Json[], request: IrRequest, dropped: DroppedFields): void {
  const marked: JsonObject[] = [];
  collectMarked(written, marked);
  for (const part of marked.slice(0, -maxBreakpoints)) delete part["prompt_cache_breakpoint"];
  const left = Math.min(marked.length, maxBreakpoints);
  if (left < countMarks(request)) dropped.add(dropped.names.cacheMark);
}

function collectMarked(parts: readonly Json[], marked: JsonObject[]): void {
  for (const part of parts) {
    if (!isObject(part)) continue;
    for (const inner of [part["content"], part["output"]]) {
      if (Array.isArray(inner)) collectMarked(inner, marked);
    }
    if (part["prompt_cache_breakpoint"] !== undefined) marked.push(part);
  }
}
