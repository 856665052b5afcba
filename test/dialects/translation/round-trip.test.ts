import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import type { Source } from "../../../src/dialects/contract/client-dialect.ts";
import { DroppedFields } from "../../../src/dialects/contract/field-decisions.ts";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import { EventCollector } from "../../../src/dialects/ir/events.ts";
import type { IrAssistantBlock, IrResponse } from "../../../src/dialects/ir/ir.ts";
import { clientDialect, providerDialect } from "../../../src/dialects/registry.ts";
import { SseDecoder } from "../../../src/dialects/sse/sse.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import { type BodyDialectName, bodyDialectNames } from "../../support/body-dialects.ts";
import { isFast } from "../../support/effort.ts";
import { seededRandom } from "../../support/random.ts";
import { answerOf as readAnswer } from "../../support/read-stream.ts";
import { Generator } from "../generate.ts";
import { eventsOf } from "../ir-events.ts";

/** Each pair gets this many conversations; one that fails is run again by its number alone. */
const seeds = Array.from({ length: isFast ? 15 : 60 }, (_, index) => index + 1);
const pairs = bodyDialectNames.flatMap((from) => bodyDialectNames.map((to) => [from, to] as const));

/** Providers that can be told everything that their dialect has words for. */
function targetOf(dialect: BodyDialectName): Target {
  return {
    dialect: providerDialect(dialect),
    upstreamModel: "model",
    provider: "p",
    isStrict: dialect === "messages",
    maxOutputTokens: null,
    maxTokensField: "max_tokens",
    streamUsage: true,
    capabilities: { system_messages: true, reasoning: true, cache_control: true },
  };
}

/** OpenAI's own chat keeps the boundaries of texts; a compatible server gets several texts as one. */
const exactTarget = (dialect: BodyDialectName): Target =>
  dialect === "chat" ? { ...targetOf(dialect), isStrict: true } : targetOf(dialect);

function sourceOf(dialect: BodyDialectName, body: JsonObject): Source {
  return { dialect: clientDialect(dialect), body, model: "model", nowSeconds: 1, estimatedInputTokens: 1 };
}

/** Between two of the same dialect bytes pass through; here they are read and written all the same. */
function pass(
  from: BodyDialectName,
  to: BodyDialectName,
  body: JsonObject,
  targetFor = targetOf,
): JsonObject {
  if (from !== to) return translate(sourceOf(from, body), targetFor(to)).body;
  const request = clientDialect(from).readRequest(body, new DroppedFields(clientDialect(from).fieldNames));
  return providerDialect(to).writeRequest(
    request,
    targetFor(to),
    new DroppedFields(clientDialect(from).fieldNames),
  );
}

describe("a conversation that went through another dialect and back is the same", () => {
  for (const [from, through] of pairs) {
    test(`${from} through ${through}`, () => {
      for (const seed of seeds) {
        const request = new Generator(seededRandom(seed), [from, through]).request();
        const body = providerDialect(from).writeRequest(
          request,
          exactTarget(from),
          new DroppedFields(clientDialect(from).fieldNames),
        );
        const back = pass(through, from, pass(from, through, body, exactTarget), exactTarget);
        expect(conversationOf(back), `seed ${seed}`).toEqual(conversationOf(body));
      }
    });
  }
});

/** Two fields come back filled in with what they mean when they are missing. */
function conversationOf({ messages, system, input, instructions, tools }: JsonObject): Json {
  const text = JSON.stringify({ messages, system, input, instructions, tools }, (name, value) => {
    const filledIn = (name === "detail" && value === "auto") || (name === "strict" && value === false);
    return filledIn ? undefined : value;
  });
  return JSON.parse(text);
}

describe("an answer that a client brings back is what its provider gave", () => {
  for (const [client, provider] of pairs) {
    test(`${provider} by way of ${client}`, () => {
      for (const seed of seeds) {
        const given = answerOf(seed, client, provider);
        const answer = clientDialect(provider).writeResponse(given, asServer(provider));
        const asked = openingOf(client);
        const received = translate(sourceOf(client, asked), targetOf(provider)).response(answer).body;
        const history = pass(client, provider, withAnswer(client, asked, received));
        expect(assistantIn(provider, history), `seed ${seed}`).toEqual(withoutIds(given.blocks));
      }
    });
  }
});

describe("a streamed answer is the same as a whole one, event by event", () => {
  for (const [client, provider] of pairs) {
    test(`${provider} to ${client}`, () => {
      for (const seed of seeds) {
        const given = answerOf(seed, client, provider);
        const stream = translate(
          sourceOf(client, { ...openingOf(client), stream: true }),
          targetOf(provider),
        ).stream();
        let text = "";
        for (const frame of framesOf(streamed(provider, given))) text += stream.push(frame);
        text += stream.end() + stream.terminal();
        const collector = new EventCollector();
        const reader = providerDialect(client).createStreamReader({ target: targetOf(client) });
        for (const event of readAnswer(reader, [Buffer.from(text)])) collector.push(event);
        const read = collector.response();
        expect(visible(read.blocks), `seed ${seed}`).toEqual(visible(given.blocks));
        expect(read.finish.reason).toBe(given.finish.reason);
      }
    });
  }
});

/** Within what both can say; a chat client cannot keep the reasoning of others. */
function answerOf(seed: number, client: BodyDialectName, provider: BodyDialectName): IrResponse {
  const response = new Generator(seededRandom(seed), [client, provider]).response(provider);
  const keeps = client !== "chat";
  return keeps ? response : { ...response, blocks: response.blocks.filter((it) => it.type !== "reasoning") };
}

function asServer(dialect: BodyDialectName) {
  const source = sourceOf(dialect, openingOf(dialect));
  return { source, mint: (prefix: string) => `${prefix}${crypto.randomUUID()}`, clock: systemClock };
}

function openingOf(dialect: BodyDialectName): JsonObject {
  if (dialect === "responses") return { model: "model", input: [{ role: "user", content: "go" }] };
  return { model: "model", max_tokens: 1000, messages: [{ role: "user", content: "go" }] };
}

/** What every client does with an answer: it puts it behind what it sent, and asks again. */
function withAnswer(dialect: BodyDialectName, asked: JsonObject, answer: JsonObject): JsonObject {
  if (dialect === "responses") {
    const output = answer["output"] as JsonObject[];
    const results = output
      .filter((item) => item["type"] === "function_call")
      .map((item) => ({ type: "function_call_output", call_id: item["call_id"] ?? "", output: "ok" }));
    return {
      ...asked,
      input: [...(asked["input"] as Json[]), ...output, ...results, { role: "user", content: "on" }],
    };
  }
  const asking = asked["messages"] as Json[];
  if (dialect === "chat") {
    const [choice] = answer["choices"] as [{ message: JsonObject }];
    const calls = (choice.message["tool_calls"] ?? []) as JsonObject[];
    const results = calls.map((call) => ({ role: "tool", tool_call_id: call["id"] ?? "", content: "ok" }));
    return { ...asked, messages: [...asking, choice.message, ...results, { role: "user", content: "on" }] };
  }
  const content = answer["content"] as JsonObject[];
  const results = content
    .filter((block) => block["type"] === "tool_use")
    .map((block) => ({ type: "tool_result", tool_use_id: block["id"] ?? "", content: "ok" }));
  const next = { role: "user", content: [...results, { type: "text", text: "on" }] };
  return { ...asked, messages: [...asking, { role: "assistant", content }, next] };
}

/** The assistant's turn as the provider reads it. */
function assistantIn(dialect: BodyDialectName, body: JsonObject): unknown {
  const { messages } = clientDialect(dialect).readRequest(
    body,
    new DroppedFields(clientDialect(dialect).fieldNames),
  );
  const turns = messages.filter((message) => message.role === "assistant");
  return withoutIds(turns.flatMap((turn) => turn.blocks));
}

/** A reasoning item's own id is not sent back, and chat has nothing by which to know its own reasoning. */
function withoutIds(blocks: readonly IrAssistantBlock[]): unknown {
  return blocks.map((block) => {
    if (block.type !== "reasoning") return block;
    if (block.signature?.maker === "chat" || block.signature === null) return { ...block, signature: null };
    return block.signature.maker === "openai"
      ? { ...block, signature: { ...block.signature, id: null } }
      : block;
  });
}

/** What the client can see of it, however its dialect cuts and signs it. */
function visible(blocks: readonly IrAssistantBlock[]): unknown {
  return blocks.flatMap((block): unknown[] => {
    if (block.type !== "reasoning") return [block];
    const text = block.parts.join("\n\n");
    return text === "" ? [] : [{ type: "reasoning", text }];
  });
}

function streamed(dialect: BodyDialectName, response: IrResponse): string {
  const writer = clientDialect(dialect).createStreamWriter(asServer(dialect));
  const text = eventsOf(response).map((event) => writer.write(event));
  return text.join("") + writer.terminal();
}

function framesOf(text: string) {
  const decoder = new SseDecoder();
  return [...decoder.push(new TextEncoder().encode(text)), ...decoder.end()];
}
