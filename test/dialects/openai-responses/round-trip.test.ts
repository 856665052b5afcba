import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { DroppedFields } from "../../../src/dialects/contract/field-decisions.ts";
import { EventCollector } from "../../../src/dialects/ir/events.ts";
import type {
  IrAssistantBlock,
  IrContent,
  IrEvent,
  IrFinish,
  IrMessage,
  IrResponse,
  IrUserBlock,
  ReasoningSignature,
} from "../../../src/dialects/ir/ir.ts";
import { openAiResponses } from "../../../src/dialects/openai-responses/index.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";
import { type SeededRandom, seededRandom } from "../../support/random.ts";
import { answerIn } from "../../support/read-stream.ts";
import { collected, eventsOf } from "../ir-events.ts";
import { callOf, dataOf, hearWithSdk, plainRequest, requestOf, targetOf, writeStream } from "./support.ts";

const runs = 300;
const words = [
  "plain",
  " ",
  "\n\n",
  'quo"te',
  "back\\slash",
  "Grüße",
  "🌍",
  "\u2028",
  "data: x",
  "{}",
  "\t",
  "é",
];

function textOf(random: SeededRandom): string {
  return Array.from({ length: 1 + random.below(5) }, () => random.pick(words)).join("");
}

function contentOf(random: SeededRandom): IrContent {
  switch (random.below(4)) {
    case 0: {
      const source = { kind: "base64", mediaType: "image/png", data: "AAAA" } as const;
      return { type: "image", source, detail: random.pick(["low", "high", "auto"]) };
    }
    case 1: {
      const source = { kind: "base64", mediaType: "application/pdf", data: "JVBE" } as const;
      return { type: "document", source, title: `${textOf(random)}.pdf` };
    }
    default:
      return { type: "text", text: textOf(random) };
  }
}

/** Reasoning that its provider can know again; no part of it is empty. */
function reasoningOf(random: SeededRandom, signature: ReasoningSignature): IrAssistantBlock {
  const parts = Array.from({ length: random.below(3) }, () => textOf(random));
  return { type: "reasoning", parts, signature };
}

function callOfKind(random: SeededRandom, id: string): IrAssistantBlock & { readonly type: "tool_call" } {
  const kind = random.pick(["function", "custom"] as const);
  const input = kind === "custom" ? textOf(random) : JSON.stringify({ a: textOf(random) });
  return { type: "tool_call", id, kind, namespace: null, name: `tool_${random.below(9)}`, input };
}

function conversationOf(random: SeededRandom): IrMessage[] {
  const messages: IrMessage[] = [{ role: "user", blocks: [{ type: "text", text: textOf(random) }] }];
  for (let turn = 0; turn < 1 + random.below(4); turn += 1) {
    const calls = Array.from({ length: random.below(3) }, (_, at) =>
      callOfKind(random, `call_${turn}_${at}`),
    );
    const signature: ReasoningSignature = {
      maker: "openai",
      id: null,
      encryptedContent: textOf(random),
      raw: false,
    };
    messages.push({
      role: "assistant",
      blocks: [
        ...(random.chance(0.5) ? [reasoningOf(random, signature)] : []),
        { type: "text", text: textOf(random) },
        ...(random.chance(0.2) ? [{ type: "refusal" as const, text: textOf(random) }] : []),
        ...calls,
      ],
    });
    const results = calls.map(
      ({ id, kind }): IrUserBlock => ({
        type: "tool_result",
        id,
        kind,
        content: Array.from({ length: random.below(3) }, () => contentOf(random)),
        isError: false,
      }),
    );
    messages.push({ role: "user", blocks: [...results, contentOf(random)] });
    if (random.chance(0.3))
      messages.push({ role: "system", blocks: [{ type: "text", text: textOf(random) }] });
  }
  return messages;
}

/** Where something stood in the body is no part of what was said. */
function withoutPaths(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (name, inner) => (name === "path" ? undefined : inner)));
}

test("a conversation that is written and read again keeps every block, id, order and byte of text", () => {
  for (let seed = 1; seed <= runs; seed += 1) {
    const random = seededRandom(seed);
    const messages = conversationOf(random);
    const system = Array.from(
      { length: random.below(3) },
      () => ({ type: "text", text: textOf(random) }) as const,
    );
    const dropped = new DroppedFields(clientDialect("responses").fieldNames);
    const body = openAiResponses.provider.writeRequest(
      { ...plainRequest, system, messages },
      targetOf(),
      dropped,
    );
    expect(dropped.fields).toEqual([]);
    const wire: JsonObject = JSON.parse(JSON.stringify(body));
    const again = openAiResponses.client.readRequest(wire, dropped);
    expect({ seed, system: again.system, messages: withoutPaths(again.messages) }).toEqual({
      seed,
      system,
      messages: withoutPaths(messages) as typeof messages,
    });
  }
});

const signatures: readonly ReasoningSignature[] = [
  { maker: "anthropic", signature: "sig==" },
  { maker: "anthropic-redacted", data: "hidden" },
  { maker: "chat" },
];

function answerOf(random: SeededRandom): IrResponse {
  const blocks = Array.from({ length: 1 + random.below(5) }, (_, at): IrAssistantBlock => {
    if (random.chance(0.3)) return reasoningOf(random, random.pick(signatures));
    if (random.chance(0.3)) return callOfKind(random, `call_${at}`);
    return { type: "text", text: textOf(random) };
  });
  const reason: IrFinish["reason"] = random.pick(["stop", "length"]);
  const called = reason === "stop" && blocks.some((block) => block.type === "tool_call");
  return {
    blocks,
    finish: { reason: called ? "tool_calls" : reason, stopSequence: null, explanation: null },
    usage: { inputTokens: 1, cachedInputTokens: 2, cacheWriteTokens: 3, outputTokens: 4, reasoningTokens: 1 },
    serviceTier: "default",
  };
}

/** The same stream in smaller pieces, cut anywhere, even inside a character. */
function fragmentsOf(answer: IrResponse, random: SeededRandom): IrEvent[] {
  return eventsOf(answer).flatMap((event): IrEvent[] => {
    if (event.type !== "delta" || event.text.length < 2) return [event];
    const cut = 1 + random.below(event.text.length - 1);
    return [
      { ...event, text: event.text.slice(0, cut) },
      { ...event, text: event.text.slice(cut) },
    ];
  });
}

function replay(output: unknown): readonly IrAssistantBlock[] {
  const items: JsonObject[] = JSON.parse(JSON.stringify(output));
  const { messages } = requestOf({ input: [{ role: "user", content: "hi" }, ...items] });
  const [, answer] = messages;
  return answer?.role === "assistant" ? answer.blocks : [];
}

test("what a client replays of an answer is what the provider said, streamed or not", async () => {
  for (let seed = 1; seed <= runs; seed += 1) {
    const random = seededRandom(seed);
    const answer = answerOf(random);
    const whole = openAiResponses.client.writeResponse(answer, callOf({}));
    expect({ seed, blocks: replay(whole["output"]) }).toEqual({ seed, blocks: answer.blocks });
    const stream = writeStream(fragmentsOf(answer, random));
    const last = dataOf(stream).at(-1)?.["response"] as JsonObject;
    expect({ seed, blocks: replay(last["output"]) }).toEqual({ seed, blocks: answer.blocks });
    // The same response, whichever way it came; ids are minted in another order.
    const withoutIds = (response: JsonObject): string =>
      JSON.stringify(response, (name, value) => (name === "id" ? undefined : value));
    expect(JSON.parse(withoutIds(last))).toEqual(JSON.parse(withoutIds(whole)));
    if (seed % 10 === 0) expect(replay((await hearWithSdk(stream)).final.output)).toEqual(answer.blocks);
  }
});

test("what a provider streams is what it says in a whole response", () => {
  for (let seed = 1; seed <= runs; seed += 1) {
    const random = seededRandom(seed);
    const answer = answerOf(random);
    const whole = openAiResponses.client.writeResponse(answer, callOf({}));
    const stream = writeStream(fragmentsOf(answer, random));
    const collector = new EventCollector();
    const reader = openAiResponses.provider.createStreamReader({ target: targetOf() });
    for (const data of dataOf(stream)) {
      const read = reader.read({ event: "", data: JSON.stringify(data) });
      for (const event of answerIn(read)) collector.push(event);
    }
    const withoutSignatures = (response: IrResponse): unknown =>
      JSON.parse(JSON.stringify(response, (name, value) => (name === "signature" ? undefined : value)));
    expect(withoutSignatures(collector.response())).toEqual(
      withoutSignatures(collected(openAiResponses.provider.readResponse(whole, targetOf()))),
    );
  }
});
