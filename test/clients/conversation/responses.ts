import type { JsonObject } from "../../../src/base/json.ts";
import {
  addressedAt,
  complain,
  listOf,
  objectOf,
  type ProviderDialect,
  parsed,
  pictureAt,
  stringOf,
  unsealed,
} from "./dialect.ts";
import { responseOf, streamResponse } from "./responses-answer.ts";
import type { Heard, Utterance } from "./scenario.ts";

export const responses: ProviderDialect = {
  ...addressedAt("/v1/responses"),
  hear,
  say: responseOf,
  stream: streamResponse,
  failure: (message) => ({ error: { message, type: "server_error", param: null, code: "server_error" } }),
};

function hear(body: JsonObject): Heard {
  const input = body["input"];
  const items = typeof input === "string" ? [{ role: "user", content: input }] : listOf(input);
  const [first, ...rest] = items;
  const instructed = isInstruction(first);
  const system = instructed ? textIn(first?.["content"]) : "";
  const reasoning = objectOf(body["reasoning"]);
  if (reasoning["effort"] !== undefined) checkProofs(body);
  return {
    system: typeof body["instructions"] === "string" ? body["instructions"] + system : system,
    spoken: (instructed ? rest : items).flatMap(hearItem),
    tools: listOf(body["tools"]).map(({ name, description, parameters }) => ({
      name: stringOf(name, "a tool's name"),
      description: stringOf(description, "a description"),
      schema: parameters,
    })),
    effort: typeof reasoning["effort"] === "string" ? reasoning["effort"] : null,
    schema: objectOf(objectOf(body["text"])["format"])["schema"] ?? null,
  };
}

/** Nothing is stored here, so reasoning can only come back if it was given away sealed. */
function checkProofs(body: JsonObject): void {
  const include = body["include"];
  if (!Array.isArray(include) || !include.includes("reasoning.encrypted_content")) {
    complain("reasoning is asked for without its proof:", include);
  }
  if (body["store"] !== false) complain("the response is to be stored");
}

function isInstruction(item: JsonObject | undefined): boolean {
  return item?.["role"] === "developer" || item?.["role"] === "system";
}

function hearItem(item: JsonObject): Utterance[] {
  switch (item["type"] ?? "message") {
    case "message":
      return hearMessage(item);
    case "reasoning":
      return [hearReasoning(item)];
    case "function_call": {
      const call = {
        id: stringOf(item["call_id"], "a call's id"),
        name: stringOf(item["name"], "a call's name"),
        input: parsed(item["arguments"], "the arguments"),
      };
      return [{ who: "assistant", call }];
    }
    case "function_call_output":
      return [{ who: "tool", id: stringOf(item["call_id"], "a tool's call"), text: textIn(item["output"]) }];
    default:
      return complain("an unknown item:", item);
  }
}

function hearMessage({ role, content }: JsonObject): Utterance[] {
  if (role !== "user" && role !== "assistant") complain("a message of nobody:", role);
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  return parts.map((part) => {
    if (part["type"] === "input_image") return { who: "user", picture: pictureAt(part["image_url"]) };
    const text = stringOf(part["text"] ?? part["refusal"], "a part");
    return role === "user" ? { who: "user", text } : { who: "assistant", text };
  });
}

function hearReasoning(item: JsonObject): Utterance {
  if (!Array.isArray(item["summary"])) complain("reasoning without a summary:", item);
  const thinking = listOf(item["summary"])
    .map((part) => stringOf(part["text"], "a summary"))
    .join("");
  return { who: "assistant", thinking, proof: unsealed(item["encrypted_content"], "openai") };
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => stringOf(part["text"], "a part"))
    .join("");
}
