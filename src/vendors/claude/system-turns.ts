import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/**
 * The conversation with its system messages turned into user text, for clouds whose Claude does not accept them. Nothing may
 * come between a call and its result, so such text follows the result. The same value if there are none.
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
