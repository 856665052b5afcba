import type { Json } from "../../base/json.ts";
import type { IrRequest } from "../ir/ir.ts";
import type { DroppedFields } from "../translation/field-decisions.ts";
import { countMarks, limitMarks } from "../translation/mark-cache.ts";

/** A client's cache marks are dropped where the provider caches by itself and takes none. */
export function dropCacheMarks(request: IrRequest, dropped: DroppedFields): void {
  if (countMarks(request) > 0) dropped.add(dropped.names.cacheMark);
}

/** OpenAI's form of a mark, for models that take one. The lifetime is the request's. */
export const cacheBreakpoint = { prompt_cache_breakpoint: { mode: "explicit" } };

/** Limits the breakpoints, and reports if not all marks of the request are left: tools and some parts have no place for one. */
export function limitBreakpoints(written: readonly Json[], request: IrRequest, dropped: DroppedFields): void {
  if (limitMarks(written, "prompt_cache_breakpoint") < countMarks(request))
    dropped.add(dropped.names.cacheMark);
}
