import type { JsonObject } from "../../src/base/json.ts";
import type { Target } from "../../src/dialects/contract/provider-dialect.ts";
import { clientDialect, type ProviderDialectName, providerDialect } from "../../src/dialects/registry.ts";
import { translate } from "../../src/dialects/translation/translate.ts";
import { TranslatedRelayer } from "../../src/gateway/response/translated-relayer.ts";
import { readBytes, timeOf } from "./cpu-time.ts";

/**
 * `bun test/bench/translation.ts`: what translating from messages costs toward Gemini, as a multiple of what it costs toward
 * chat. In one process, without sockets: the processor's time of the translation alone.
 */
const text = "Water finds its level, and the lock keeper waits for it. ".repeat(36);
const words = text.match(/\S+\s*/g) ?? [];
const events = 200;

const pieces = Array.from({ length: events }, (_, index) => {
  const size = words.length / events;
  return words.slice(Math.floor(index * size), Math.floor((index + 1) * size)).join("");
});

function conversation(turns: number): JsonObject[] {
  return Array.from({ length: turns }, (_, index): JsonObject => {
    if (index % 2 === 0) return { role: "user", content: [{ type: "text", text: text.slice(0, 800) }] };
    return { role: "assistant", content: [{ type: "text", text: text.slice(0, 400) }] };
  });
}

const tools = Array.from({ length: 20 }, (_, index) => ({
  name: `tool_${index}`,
  description: text.slice(0, 300),
  input_schema: {
    type: "object",
    properties: { path: { type: "string" }, limit: { type: "integer" } },
    required: ["path"],
  },
}));

function toolTurns(count: number): JsonObject[] {
  return Array.from({ length: count }, (_, index): JsonObject[] => [
    {
      role: "assistant",
      content: [{ type: "tool_use", id: `t${index}`, name: "tool_1", input: { path: "/a", limit: 5 } }],
    },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: `t${index}`, content: text.slice(0, 500) }],
    },
  ]).flat();
}

const chatTarget: Target = {
  dialect: providerDialect("chat"),
  upstreamModel: "open-model",
  provider: "p",
  isStrict: false,
  maxOutputTokens: null,
  maxTokensField: "max_tokens",
  streamUsage: true,
  capabilities: {},
};

const targets: Readonly<Partial<Record<ProviderDialectName, Target>>> = {
  chat: chatTarget,
  gemini: {
    ...chatTarget,
    dialect: providerDialect("gemini"),
    upstreamModel: "gemini-3.1-pro-preview",
    isStrict: true,
  },
};

const answers: Readonly<Partial<Record<ProviderDialectName, JsonObject>>> = {
  chat: {
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: { prompt_tokens: 100, completion_tokens: 300, total_tokens: 400 },
  },
  gemini: {
    candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 300, totalTokenCount: 400 },
    modelVersion: "gemini-3.1-pro-preview",
  },
};

function chatStream(): string {
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
  const chunks = pieces.map((content) => ({
    ...head,
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  }));
  const last = { ...head, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  const usage = {
    ...head,
    choices: [],
    usage: { prompt_tokens: 100, completion_tokens: 300, total_tokens: 400 },
  };
  return `${[...chunks, last, usage].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
}

/** Google sends an answer in far fewer chunks than others do: some dozens of tokens in each. */
function geminiStream(perChunk: number): string {
  const count = Math.ceil(events / perChunk);
  const chunks = Array.from({ length: count }, (_, index) => ({
    candidates: [
      {
        content: {
          parts: [{ text: pieces.slice(index * perChunk, (index + 1) * perChunk).join("") }],
          role: "model",
        },
        ...(index === count - 1 ? { finishReason: "STOP" } : {}),
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: 100,
      candidatesTokenCount: index + 1,
      totalTokenCount: 101 + index,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 100 }],
    },
    modelVersion: "gemini-3.1-pro-preview",
    responseId: "vK0Yad2mJZ",
  }));
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("");
}

function sourceOf(body: JsonObject) {
  return { dialect: clientDialect("messages"), body, model: "m", nowSeconds: 1, estimatedInputTokens: 5 };
}

function relay(target: Target, stream: Buffer): void {
  const translation = translate(
    sourceOf({ model: "m", max_tokens: 512, stream: true, messages: conversation(1) }),
    target,
  );
  const relayer = new TranslatedRelayer(translation.stream(), "req_1");
  for (let at = 0; at < stream.length; at += readBytes) relayer.push(stream.subarray(at, at + readBytes));
  relayer.end();
  relayer.terminal();
}

const rounds = 15;

/** The best of several rounds of each, in turn. */
function compare(name: string, runs: number, chat: () => void, gemini: () => void): void {
  let one = Number.POSITIVE_INFINITY;
  let other = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    one = Math.min(one, timeOf(chat, runs));
    other = Math.min(other, timeOf(gemini, runs));
  }
  const figures = [one, other].map((figure) => `${figure.toFixed(1).padStart(8)} µs`).join(" ");
  console.log(`${name.padEnd(52)} ${figures} ${(other / one).toFixed(2).padStart(6)}`);
}

function request(body: JsonObject, dialect: "chat" | "gemini"): () => void {
  const target = targets[dialect] ?? chatTarget;
  return () => void JSON.stringify(translate(sourceOf(body), target).body);
}

function answer(dialect: "chat" | "gemini"): () => void {
  const target = targets[dialect] ?? chatTarget;
  const source = sourceOf({ model: "m", max_tokens: 512, messages: conversation(1) });
  const raw = JSON.stringify(answers[dialect]);
  return () => void JSON.stringify(translate(source, target).response(JSON.parse(raw)).body);
}

const plain = { model: "m", max_tokens: 512, messages: conversation(3) };
const agent = { model: "m", max_tokens: 512, tools, messages: [...conversation(1), ...toolTurns(30)] };
const geminiTarget = targets.gemini ?? chatTarget;
const [chatBytes, fineBytes, usualBytes] = [chatStream(), geminiStream(1), geminiStream(10)].map((it) =>
  Buffer.from(it),
);
console.log(
  `${"messages →".padEnd(52)} ${"chat".padStart(11)} ${"gemini".padStart(11)} ${"ratio".padStart(6)}`,
);
compare("a request of three turns", 2000, request(plain, "chat"), request(plain, "gemini"));
compare("an agent's request: 20 tools, 30 calls", 200, request(agent, "chat"), request(agent, "gemini"));
compare("a whole answer", 2000, answer("chat"), answer("gemini"));
if (chatBytes !== undefined && fineBytes !== undefined && usualBytes !== undefined) {
  const chat = () => relay(chatTarget, chatBytes);
  compare("a stream of 200 pieces, ten in a chunk of Gemini's", 200, chat, () =>
    relay(geminiTarget, usualBytes),
  );
  compare("a stream of 200 pieces, one in a chunk of Gemini's", 200, chat, () =>
    relay(geminiTarget, fineBytes),
  );
}
