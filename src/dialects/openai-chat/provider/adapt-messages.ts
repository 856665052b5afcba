import type { Json, JsonObject } from "../../../base/json.ts";
import type { Quirk } from "../quirks.ts";

/** Messages for a server that takes only some of what OpenAI does. */
export function adapted(messages: readonly JsonObject[], quirks: readonly Quirk[]): JsonObject[] {
  const written = quirks.includes("alternate") ? joined(messages) : [...messages];
  const last = written.at(-1);
  for (const message of written) {
    if (quirks.includes("no_name") && message["role"] !== "tool") delete message["name"];
    if (message["role"] !== "assistant") continue;
    if (quirks.includes("reasoning_back") && message["tool_calls"] !== undefined) {
      message["reasoning_content"] ??= "";
    }
    if (quirks.includes("prefix") && message === last && message["tool_calls"] === undefined) {
      message["prefix"] = true;
    }
  }
  return written;
}

/** Neighbours of one role become one message. */
function joined(messages: readonly JsonObject[]): JsonObject[] {
  const written: JsonObject[] = [];
  for (const message of messages) {
    const before = written.at(-1);
    const mayJoin = message["role"] === "user" || message["role"] === "system";
    if (before !== undefined && mayJoin && before["role"] === message["role"]) {
      before["content"] = joinedContent(before["content"] ?? "", message["content"] ?? "");
    } else written.push({ ...message });
  }
  return written;
}

function joinedContent(first: Json, second: Json): Json {
  if (typeof first === "string" && typeof second === "string") return `${first}\n\n${second}`;
  return [...partsOf(first), ...partsOf(second)];
}

function partsOf(content: Json): Json[] {
  return Array.isArray(content) ? content : [{ type: "text", text: content }];
}
