import type { JsonObject } from "../../../src/base/json.ts";
import type { SeenRequest } from "../../support/provider.ts";
import { encodeEvent, encodeException } from "../../vendors/bedrock/encode-message.ts";
import {
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
import type { Ending, Heard, Said, TokenCount, Turn, Utterance } from "./scenario.ts";

/** A Claude by Bedrock's Converse, whose streams are binary. */
export const converse: ProviderDialect = {
  isAskedAt: (path) => /^\/model\/[^/]+\/converse(?:-stream)?$/.test(path),
  isAskedToStream: ({ path }) => path.endsWith("/converse-stream"),
  modelAskedFor: ({ path }: Pick<SeenRequest, "path">) =>
    decodeURIComponent(/^\/model\/([^/]+)/.exec(path)?.[1] ?? ""),
  streamType: "application/vnd.amazon.eventstream",
  hear,
  say,
  stream,
  failure: (message) => ({ message }),
};

const finishes: Readonly<Record<Ending, string>> = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  refusal: "content_filtered",
  fails: "",
  cut: "",
};

/** A result must have content, so one without any says so. */
const noOutput = "(no output)";

// ——— Hearing ———

function hear(body: JsonObject): Heard {
  for (const name of ["model", "stream", "max_tokens"]) if (name in body) complain("a foreign field:", name);
  const turns = listOf(body["messages"]);
  if (turns.some(({ role }, index) => role !== (index % 2 === 0 ? "user" : "assistant")))
    complain("turns do not alternate:", turns);
  const config = objectOf(objectOf(body["additionalModelRequestFields"])["output_config"]);
  return {
    system: textIn(body["system"]),
    spoken: turns.flatMap(hearTurn),
    tools: blocksIn(objectOf(body["toolConfig"])["tools"]).map(({ toolSpec }) => {
      const { name, description, inputSchema } = objectOf(toolSpec);
      return {
        name: stringOf(name, "a tool's name"),
        description: stringOf(description, "a description"),
        schema: objectOf(inputSchema)["json"],
      };
    }),
    effort: typeof config["effort"] === "string" ? config["effort"] : null,
    schema: objectOf(config["format"])["schema"] ?? null,
  };
}

function hearTurn({ role, content }: JsonObject): Utterance[] {
  const blocks = blocksIn(content);
  if (blocks.length === 0) complain("a turn without content");
  return blocks.map((block) => (role === "user" ? hearUser(block) : hearAssistant(block)));
}

function hearUser(block: JsonObject): Utterance {
  if (typeof block["text"] === "string") return { who: "user", text: block["text"] };
  if (block["image"] !== undefined) {
    const { format, source } = objectOf(block["image"]);
    const data = stringOf(objectOf(source)["bytes"], "an image's bytes");
    return { who: "user", picture: { mediaType: `image/${stringOf(format, "a format")}`, data } };
  }
  const { toolUseId, content, status } = objectOf(block["toolResult"]);
  if (status !== "success") complain("a result without a status:", block);
  const text = textIn(content);
  return { who: "tool", id: stringOf(toolUseId, "a call's id"), text: text === noOutput ? "" : text };
}

function hearAssistant(block: JsonObject): Utterance {
  if (typeof block["text"] === "string") return { who: "assistant", text: block["text"] };
  if (block["reasoningContent"] !== undefined) {
    const { text, signature } = objectOf(objectOf(block["reasoningContent"])["reasoningText"]);
    const proof = unsealed(signature, "anthropic");
    return { who: "assistant", thinking: stringOf(text, "thinking"), proof };
  }
  const { toolUseId, name, input } = objectOf(block["toolUse"]);
  const call = {
    id: stringOf(toolUseId, "a call's id"),
    name: stringOf(name, "a call's name"),
    input: objectOf(input),
  };
  return { who: "assistant", call };
}

/** Without cache points, which stand behind what they mark. */
function blocksIn(list: unknown): JsonObject[] {
  const all = listOf(list);
  if (all[0]?.["cachePoint"] !== undefined) complain("a cache point that marks nothing:", all);
  return all.filter((block) => block["cachePoint"] === undefined);
}

function textIn(content: unknown): string {
  return blocksIn(content)
    .map((block) => stringOf(block["text"], "a block"))
    .join("");
}

// ——— Saying ———

function say({ says, usage, ending }: Turn): JsonObject {
  return {
    output: { message: { role: "assistant", content: says.flatMap(blockOf) } },
    stopReason: finishes[ending],
    usage: usageOf(usage),
    metrics: { latencyMs: 3 },
  };
}

function blockOf(said: Said): JsonObject[] {
  switch (said.type) {
    case "text":
      return [{ text: said.text }];
    case "thinking": {
      const signature = sealed(said.proof, "anthropic");
      return [{ reasoningContent: { reasoningText: { text: said.text, signature } } }];
    }
    case "call":
      return [{ toolUse: { toolUseId: said.id, name: said.name, input: said.input } }];
    case "refusal":
      return [];
  }
}

function stream({ says, usage, ending }: Turn): Uint8Array[] {
  const spoken = says.filter((said) => said.type !== "refusal");
  const frames = [
    encodeEvent("messageStart", { role: "assistant", p: "abc" }),
    ...spoken.flatMap((said, index) => streamBlock(said, index, ending)),
  ];
  if (ending === "cut") return frames;
  if (ending === "fails")
    return [...frames, encodeException("modelStreamErrorException", { message: failureWords })];
  return [
    ...frames,
    encodeEvent("messageStop", { stopReason: finishes[ending], p: "abcdef" }),
    encodeEvent("metadata", { usage: usageOf(usage), metrics: { latencyMs: 3 }, p: "a" }),
  ];
}

function streamBlock(said: Said, contentBlockIndex: number, ending: Ending): Uint8Array[] {
  const start = said.type === "call" ? { toolUse: { toolUseId: said.id, name: said.name } } : null;
  const frames = [
    ...(start === null ? [] : [encodeEvent("contentBlockStart", { contentBlockIndex, start })]),
    ...deltasOf(said).map((delta) =>
      encodeEvent("contentBlockDelta", { contentBlockIndex, delta, p: "abcd" }),
    ),
  ];
  const isBroken = ending === "cut" || ending === "fails";
  return isBroken ? frames : [...frames, encodeEvent("contentBlockStop", { contentBlockIndex })];
}

function deltasOf(said: Said): JsonObject[] {
  if (said.type === "call") {
    if (Object.keys(said.input).length === 0) return [];
    return pieces(JSON.stringify(said.input), 7).map((input) => ({ toolUse: { input } }));
  }
  if (said.type === "thinking") {
    const thoughts = pieces(said.text).map((text) => ({ reasoningContent: { text } }));
    const proof = pieces(sealed(said.proof, "anthropic"), 5);
    return [...thoughts, ...proof.map((signature) => ({ reasoningContent: { signature } }))];
  }
  return pieces(said.text).map((text) => ({ text }));
}

/** Input that came from a cache is not counted again as input. */
function usageOf({ input, cached, output }: TokenCount): JsonObject {
  return {
    inputTokens: input - cached,
    outputTokens: output,
    totalTokens: input + output,
    cacheReadInputTokens: cached,
    cacheWriteInputTokens: 0,
  };
}
