import type { JsonObject } from "../../../src/base/json.ts";
import {
  addressedAt,
  complain,
  failureWords,
  listOf,
  objectOf,
  type ProviderDialect,
  pieces,
  sealed,
  stringOf,
  unsealed,
} from "./dialect.ts";
import {
  type Ending,
  type Heard,
  type Said,
  type TokenCount,
  type Turn,
  textOf,
  type Utterance,
} from "./scenario.ts";

export const messages: ProviderDialect = {
  ...addressedAt("/v1/messages"),
  hear,
  say,
  stream,
  failure: (message) => ({ type: "error", error: { type: "api_error", message } }),
};

const finishes: Readonly<Record<Ending, string | null>> = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  refusal: "refusal",
  fails: null,
  cut: null,
};

// ——— Hearing ———

function hear(body: JsonObject): Heard {
  if (typeof body["max_tokens"] !== "number") complain("there is no max_tokens");
  const config = objectOf(body["output_config"]);
  const thinks = ["adaptive", "enabled"].includes(String(objectOf(body["thinking"])["type"]));
  if (!thinks && config["effort"] !== undefined) complain("an effort without thinking");
  return {
    system: textIn(body["system"]),
    spoken: listOf(body["messages"]).flatMap(hearMessage),
    tools: listOf(body["tools"]).map(({ name, description, input_schema }) => ({
      name: stringOf(name, "a tool's name"),
      description: stringOf(description, "a description"),
      schema: input_schema,
    })),
    effort: typeof config["effort"] === "string" ? config["effort"] : null,
    schema: objectOf(config["format"])["schema"] ?? null,
  };
}

function hearMessage({ role, content }: JsonObject): Utterance[] {
  if (role !== "user" && role !== "assistant") complain("a message of nobody:", role);
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  return blocks.map((block) => (role === "user" ? hearUser(block) : hearAssistant(block)));
}

function hearUser(block: JsonObject): Utterance {
  switch (block["type"]) {
    case "text":
      return { who: "user", text: stringOf(block["text"], "a block") };
    case "image": {
      const { type, media_type: mediaType, data } = objectOf(block["source"]);
      if (type !== "base64") complain("an image without its data:", block);
      return {
        who: "user",
        picture: { mediaType: stringOf(mediaType, "a media type"), data: stringOf(data, "data") },
      };
    }
    case "tool_result": {
      const id = stringOf(block["tool_use_id"], "a tool's call");
      return { who: "tool", id, text: textIn(block["content"]) };
    }
    default:
      return complain("an unknown block:", block);
  }
}

function hearAssistant(block: JsonObject): Utterance {
  switch (block["type"]) {
    case "text":
      return { who: "assistant", text: stringOf(block["text"], "a block") };
    case "thinking": {
      const proof = unsealed(block["signature"], "anthropic");
      return { who: "assistant", thinking: stringOf(block["thinking"], "thinking"), proof };
    }
    case "tool_use": {
      const { id, name, input } = block;
      const call = {
        id: stringOf(id, "a call's id"),
        name: stringOf(name, "a call's name"),
        input: objectOf(input),
      };
      return { who: "assistant", call };
    }
    default:
      return complain("an unknown block:", block);
  }
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((block) => stringOf(block["text"], "a block"))
    .join("");
}

// ——— Saying ———

const head = { id: "msg_upstream", type: "message", role: "assistant", model: "upstream" };

function say({ says, usage, ending }: Turn): JsonObject {
  return { ...head, content: says.flatMap(blockOf), ...endOf(says, ending), usage: usageOf(usage) };
}

/** An Anthropic refusal has no content; the explanation is in `stop_details`. */
function endOf(says: readonly Said[], ending: Ending): JsonObject {
  const details =
    ending === "refusal"
      ? { stop_details: { type: "refusal", category: null, explanation: textOf(says, "refusal") } }
      : {};
  return { stop_reason: finishes[ending], stop_sequence: null, ...details };
}

function blockOf(said: Said): JsonObject[] {
  switch (said.type) {
    case "text":
      return [{ type: "text", text: said.text }];
    case "thinking":
      return [{ type: "thinking", thinking: said.text, signature: sealed(said.proof, "anthropic") }];
    case "call":
      return [{ type: "tool_use", id: said.id, name: said.name, input: said.input }];
    case "refusal":
      return [];
  }
}

function stream({ says, usage, ending }: Turn): string[] {
  const started = { ...usageOf(usage), output_tokens: 1 };
  const message = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: started };
  const spoken = says.filter((said) => said.type !== "refusal");
  const frames = [
    frame("message_start", { message }),
    frame("ping", {}),
    ...spoken.flatMap((said, index) => streamBlock(said, index, ending)),
  ];
  if (ending === "cut") return frames;
  if (ending === "fails") {
    return [...frames, frame("error", messages.failure(failureWords))];
  }
  return [
    ...frames,
    frame("message_delta", { delta: endOf(says, ending), usage: { output_tokens: usage.output } }),
    frame("message_stop", {}),
  ];
}

function streamBlock(said: Said, index: number, ending: Ending): string[] {
  const frames = [
    frame("content_block_start", { index, content_block: emptyBlock(said) }),
    ...deltasOf(said).map((delta) => frame("content_block_delta", { index, delta })),
  ];
  return ending === "cut" || ending === "fails"
    ? frames
    : [...frames, frame("content_block_stop", { index })];
}

function emptyBlock(said: Said): JsonObject {
  switch (said.type) {
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "call":
      return { type: "tool_use", id: said.id, name: said.name, input: {} };
    default:
      return { type: "text", text: "" };
  }
}

function deltasOf(said: Said): JsonObject[] {
  if (said.type === "call") {
    // Anthropic sends nothing where there is nothing to say.
    if (Object.keys(said.input).length === 0) return [];
    return pieces(JSON.stringify(said.input), 7).map((piece) => ({
      type: "input_json_delta",
      partial_json: piece,
    }));
  }
  if (said.type === "thinking") {
    const thoughts = pieces(said.text).map((piece) => ({ type: "thinking_delta", thinking: piece }));
    return [...thoughts, { type: "signature_delta", signature: sealed(said.proof, "anthropic") }];
  }
  return pieces(said.text).map((piece) => ({ type: "text_delta", text: piece }));
}

function frame(type: string, data: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

/** Input that came from a cache is not counted again as input. */
function usageOf({ input, cached, output }: TokenCount): JsonObject {
  return {
    input_tokens: input - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: output,
  };
}
