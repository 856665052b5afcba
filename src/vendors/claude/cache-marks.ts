import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { objectOf } from "../../dialects/json/json-fields.ts";
import type { MemberChanges } from "../../dialects/json/patch.ts";
import { withoutSystemTurns } from "./system-turns.ts";

/**
 * A conversation as clouds take it: no system message within it, and no mark with a scope, nor with a time to live where the
 * model takes none. Only what has to change.
 */
export function conversationChanges(body: JsonObject, takesTimeToLive: boolean): MemberChanges {
  const marks = new CacheMarks(takesTimeToLive);
  const rewritten: Record<string, Json | undefined> = {};
  for (const name of ["system", "tools", "messages"] as const) {
    const value = body[name];
    const changed = marks.rewrite(name === "messages" ? withoutSystemTurns(value) : value);
    if (changed !== value) rewritten[name] = changed;
  }
  return rewritten;
}

class CacheMarks {
  readonly #takesTimeToLive: boolean;

  constructor(takesTimeToLive: boolean) {
    this.#takesTimeToLive = takesTimeToLive;
  }

  /** The same value if no mark in it has to change. Marks are on tools, and on blocks of content and of results. */
  rewrite(value: Json | undefined): Json | undefined {
    if (Array.isArray(value)) return this.#rewriteList(value);
    if (!isObject(value)) return value;
    const content = this.rewrite(value["content"]);
    const mark = objectOf(value["cache_control"]);
    const changed = mark === null ? null : this.#rewriteMark(mark);
    if (content === value["content"] && changed === mark) return value;
    return {
      ...value,
      ...(content === undefined ? {} : { content }),
      ...(changed === null ? {} : { cache_control: changed }),
    };
  }

  #rewriteList(list: Json[]): Json[] {
    const rewritten = list.map((entry) => this.rewrite(entry) ?? entry);
    return rewritten.some((entry, index) => entry !== list[index]) ? rewritten : list;
  }

  #rewriteMark(mark: JsonObject): JsonObject {
    const { scope, ttl, ...others } = mark;
    const keepsTimeToLive = ttl === undefined || this.#takesTimeToLive;
    if (scope === undefined && keepsTimeToLive) return mark;
    return ttl !== undefined && keepsTimeToLive ? { ...others, ttl } : others;
  }
}
