import type { JsonObject } from "../../../src/base/json.ts";
import type { ProviderDialectName } from "../../../src/dialects/registry.ts";
import { listOf, objectOf } from "../conversation/dialect.ts";
import { readSignature } from "../conversation/gemini.ts";

/** As much of an agent's request as an errand needs; its long instructions are its own affair. */
export interface Overheard {
  readonly toolNames: readonly string[];
  readonly results: readonly { readonly id: string; readonly text: string }[];
  /** The base64 of pictures that tools have shown. */
  readonly pictures: readonly string[];
  /** What came back with the thinking; for chat, the thinking itself. */
  readonly proofs: readonly string[];
}

export const overhear: Readonly<Record<ProviderDialectName, (body: JsonObject) => Overheard>> = {
  chat(body) {
    const messages = listOf(body["messages"]);
    return {
      toolNames: listOf(body["tools"]).map((tool) => String(objectOf(tool["function"])["name"])),
      results: messages
        .filter((message) => message["role"] === "tool")
        .map((message) => ({ id: String(message["tool_call_id"]), text: textIn(message["content"]) })),
      // A tool's message holds text only, so pictures follow in one of the user.
      pictures: messages
        .flatMap((message) => (message["role"] === "user" ? listOf(message["content"]) : []))
        .flatMap((part) => picturesAt(objectOf(part["image_url"])["url"])),
      proofs: messages.flatMap((message) => message["reasoning_content"] ?? []).map(String),
    };
  },
  responses(body) {
    const items = listOf(body["input"]);
    const late = items.flatMap((item) => (item["type"] === "additional_tools" ? listOf(item["tools"]) : []));
    return {
      toolNames: [...listOf(body["tools"]), ...late].flatMap(namesIn),
      results: items
        .filter(isOutput)
        .map((item) => ({ id: String(item["call_id"]), text: textIn(item["output"]) })),
      pictures: items
        .filter(isOutput)
        .flatMap((item) => listOf(item["output"]))
        .flatMap((part) => picturesAt(part["image_url"])),
      proofs: items.flatMap((item) => item["encrypted_content"] ?? []).map(String),
    };
  },
  messages(body) {
    const blocks = listOf(body["messages"]).flatMap((message) => listOf(message["content"]));
    return {
      toolNames: listOf(body["tools"]).map((tool) => String(tool["name"])),
      results: blocks
        .filter(isResult)
        .map((block) => ({ id: String(block["tool_use_id"]), text: textIn(block["content"]) })),
      pictures: blocks
        .filter(isResult)
        .flatMap((block) => listOf(block["content"]))
        .flatMap((part) => objectOf(part["source"])["data"] ?? [])
        .map(String),
      proofs: blocks.flatMap((block) => block["signature"] ?? []).map(String),
    };
  },
  gemini(body) {
    const parts = listOf(body["contents"]).flatMap((content) => listOf(content["parts"]));
    const declared = listOf(body["tools"]).flatMap((tool) => listOf(tool["functionDeclarations"]));
    return {
      toolNames: declared.map(({ name }) => String(name)),
      results: parts
        .flatMap((part) => part["functionResponse"] ?? [])
        .map((result) => objectOf(result))
        .map(({ id, response }) => ({ id: String(id), text: String(objectOf(response)["output"]) })),
      // From Gemini 3 on a picture is part of its result.
      pictures: parts
        .flatMap((part) => listOf(objectOf(part["functionResponse"])["parts"]))
        .flatMap((part) => objectOf(part["inlineData"])["data"] ?? [])
        .map(String),
      proofs: parts.map((part) => readSignature(part["thoughtSignature"])),
    };
  },
  converse(body) {
    const blocks = listOf(body["messages"]).flatMap((message) => listOf(message["content"]));
    const results = blocks.flatMap((block) => block["toolResult"] ?? []).map((result) => objectOf(result));
    const shown = results.flatMap(({ content }) => listOf(content));
    const thoughts = blocks.map((block) => objectOf(objectOf(block["reasoningContent"])["reasoningText"]));
    return {
      toolNames: listOf(objectOf(body["toolConfig"])["tools"]).map((tool) =>
        String(objectOf(tool["toolSpec"])["name"]),
      ),
      results: results.map(({ toolUseId, content }) => ({ id: String(toolUseId), text: textIn(content) })),
      pictures: shown
        .flatMap((block) => objectOf(objectOf(block["image"])["source"])["bytes"] ?? [])
        .map(String),
      proofs: thoughts.flatMap(({ signature }) => signature ?? []).map(String),
    };
  },
};

function isOutput(item: JsonObject): boolean {
  return item["type"] === "function_call_output" || item["type"] === "custom_tool_call_output";
}

function isResult(block: JsonObject): boolean {
  return block["type"] === "tool_result";
}

function picturesAt(url: unknown): string[] {
  return typeof url === "string" ? [url.slice(url.indexOf(",") + 1)] : [];
}

function namesIn(tool: JsonObject): string[] {
  return tool["type"] === "namespace" ? listOf(tool["tools"]).flatMap(namesIn) : [String(tool["name"])];
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => String(part["text"] ?? ""))
    .join("");
}
