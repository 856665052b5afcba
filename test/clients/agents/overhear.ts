import type { DialectName } from "../../../src/base/dialect.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { listOf, objectOf } from "../conversation/dialect.ts";

/** As much of an agent's request as an errand needs; its long instructions are its own affair. */
export interface Overheard {
  readonly toolNames: readonly string[];
  readonly results: readonly { readonly id: string; readonly text: string }[];
  /** What came back with the thinking; for chat, the thinking itself. */
  readonly seals: readonly string[];
}

export const overhear: Readonly<Record<DialectName, (body: JsonObject) => Overheard>> = {
  chat(body) {
    const messages = listOf(body["messages"]);
    return {
      toolNames: listOf(body["tools"]).map((tool) => String(objectOf(tool["function"])["name"])),
      results: messages
        .filter((message) => message["role"] === "tool")
        .map((message) => ({ id: String(message["tool_call_id"]), text: textIn(message["content"]) })),
      seals: messages.flatMap((message) => message["reasoning_content"] ?? []).map(String),
    };
  },
  responses(body) {
    const items = listOf(body["input"]);
    const late = items.flatMap((item) => (item["type"] === "additional_tools" ? listOf(item["tools"]) : []));
    return {
      toolNames: [...listOf(body["tools"]), ...late].flatMap(namesIn),
      results: items
        .filter((item) => /^(function|custom_tool)_call_output$/.test(String(item["type"])))
        .map((item) => ({ id: String(item["call_id"]), text: textIn(item["output"]) })),
      seals: items.flatMap((item) => item["encrypted_content"] ?? []).map(String),
    };
  },
  messages(body) {
    const blocks = listOf(body["messages"]).flatMap((message) => listOf(message["content"]));
    return {
      toolNames: listOf(body["tools"]).map((tool) => String(tool["name"])),
      results: blocks
        .filter((block) => block["type"] === "tool_result")
        .map((block) => ({ id: String(block["tool_use_id"]), text: textIn(block["content"]) })),
      seals: blocks.flatMap((block) => block["signature"] ?? []).map(String),
    };
  },
};

function namesIn(tool: JsonObject): string[] {
  return tool["type"] === "namespace" ? listOf(tool["tools"]).flatMap(namesIn) : [String(tool["name"])];
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => String(part["text"] ?? ""))
    .join("");
}
