import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { objectOf } from "../../dialects/json/json-fields.ts";
import type { MemberChanges } from "../../dialects/json/patch.ts";

/**
 * The conversation with its system messages turned into user text, for clouds whose Claude does not accept them. A call
 * must be directly followed by its result, so such text follows the result. Returns the same value if there are none.
 */
export function withoutSystemTurns(messages: Json | undefined): Json | undefined {
  if (!Array.isArray(messages) || !messages.some(isSystemTurn)) return messages;
  const written: JsonObject[] = [];
  let postponed: Json[] = [];
  for (const message of messages.filter(isObject)) {
    const { role, content } = message;
    if (role === "system" && callsTool(written.at(-1))) postponed.push(...blocksOf(content));
    else if (role === "system") written.push({ ...message, role: "user" });
    else if (role === "user" && postponed.length > 0) {
      written.push({ ...message, content: [...blocksOf(content), ...postponed] });
      postponed = [];
    } else written.push(message);
  }
  if (postponed.length > 0) written.push({ role: "user", content: postponed });
  return written;
}

function isSystemTurn(message: Json): boolean {
  return isObject(message) && message["role"] === "system";
}

function callsTool(message: JsonObject | undefined): boolean {
  return blocksOf(message?.["content"]).some((block) => isObject(block) && block["type"] === "tool_use");
}

function blocksOf(content: Json | undefined): Json[] {
  if (Array.isArray(content)) return content;
  return typeof content === "string" ? [{ type: "text", text: content }] : [];
}

/**
 * A conversation as clouds take it: no system message within it, and no mark with a scope, nor with a time to live where the
 * model takes none. Only what has to change.
 */
export function conversationChanges(body: JsonObject, takesTimeToLive: boolean): MemberChanges {
  const rewritten: Record<string, Json | undefined> = {};
  for (const name of ["system", "tools", "messages"] as const) {
    const value = body[name];
    const changed = rewrite(name === "messages" ? withoutSystemTurns(value) : value, takesTimeToLive);
    if (changed !== value) rewritten[name] = changed;
  }
  return rewritten;
}

/** Rewrites cache marks, which are on tools and on blocks of content and of results. Returns the value itself if none has to change. */
function rewrite(value: Json | undefined, takesTimeToLive: boolean): Json | undefined {
  if (Array.isArray(value)) {
    const rewritten = value.map((entry) => rewrite(entry, takesTimeToLive) ?? entry);
    return rewritten.some((entry, index) => entry !== value[index]) ? rewritten : value;
  }
  if (!isObject(value)) return value;
  const content = rewrite(value["content"], takesTimeToLive);
  const mark = objectOf(value["cache_control"]);
  const changed = mark === null ? null : rewriteMark(mark, takesTimeToLive);
  if (content === value["content"] && changed === mark) return value;
  return {
    ...value,
    ...(content === undefined ? {} : { content }),
    ...(changed === null ? {} : { cache_control: changed }),
  };
}

function rewriteMark(mark: JsonObject, takesTimeToLive: boolean): JsonObject {
  const { scope, ttl, ...others } = mark;
  const keepsTimeToLive = ttl === undefined || takesTimeToLive;
  if (scope === undefined && keepsTimeToLive) return mark;
  return ttl !== undefined && keepsTimeToLive ? { ...others, ttl } : others;
}
