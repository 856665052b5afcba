import OpenAI from "openai";
import type { Response as ModelResponse, ResponseStreamEvent } from "openai/resources/responses/responses";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Source, WriterContext } from "../../../src/dialects/contract/client-dialect.ts";
import { DroppedFields } from "../../../src/dialects/contract/field-decisions.ts";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import { BlockOrder } from "../../../src/dialects/ir/blocks.ts";
import type { IrEvent, IrFinish, IrRequest } from "../../../src/dialects/ir/ir.ts";
import { openAiResponses } from "../../../src/dialects/openai-responses/index.ts";

/** Ids that count up, so that what a test expects is stable. */
export function countingMint(): (prefix: string) => string {
  let count = 0;
  return (prefix) => {
    count += 1;
    return `${prefix}${count}`;
  };
}

export function callOf(body: JsonObject): WriterContext {
  const whole: JsonObject = { model: "house-model", input: "hi", ...body };
  const source: Source = {
    dialect: openAiResponses.client,
    body: whole,
    model: "house-model",
    nowSeconds: 1_700_000_000,
    estimatedInputTokens: 3,
  };
  return { source, mint: countingMint(), clock: { wallMs: () => 1_700_000_009_000 } };
}

/** How a request with these fields is understood. */
export function requestOf(body: JsonObject): IrRequest {
  const whole = { model: "house-model", input: "hi", ...body };
  return openAiResponses.client.readRequest(whole, new DroppedFields(openAiResponses.client.fieldNames));
}

export function targetOf(changes: Partial<Target> = {}): Target {
  return {
    dialect: openAiResponses.provider,
    upstreamModel: "gpt-5.6",
    provider: "p",
    isStrict: true,
    maxOutputTokens: 128_000,
    maxTokensField: "max_completion_tokens",
    streamUsage: true,
    capabilities: {},
    ...changes,
  };
}

export function finishOf(reason: IrFinish["reason"], explanation: string | null = null): IrEvent {
  return { type: "finish", finish: { reason, stopSequence: null, explanation } };
}

/** A stream as its client gets it, from the first byte to the last. */
export function writeStream(events: readonly IrEvent[], body: JsonObject = {}): string {
  const writer = openAiResponses.client.createStreamWriter(callOf(body));
  const order = new BlockOrder();
  const ordered = events.flatMap((event) => (order.hold(event) ? [] : [event, ...order.release()]));
  return ordered.map((event) => writer.write(event)).join("") + writer.terminal();
}

export interface Heard {
  readonly events: readonly ResponseStreamEvent[];
  readonly final: ModelResponse;
}

/** The official helper, which throws at every event that is out of place. */
export async function hearWithSdk(text: string): Promise<Heard> {
  const client = new OpenAI({
    apiKey: "none",
    baseURL: "http://localhost/v1",
    maxRetries: 0,
    fetch: async () => new Response(text, { headers: { "content-type": "text/event-stream" } }),
  });
  const stream = client.responses.stream({ model: "house-model", input: "hi" });
  const events: ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return { events, final: await stream.finalResponse() };
}

/** The data of every frame of a stream, without the end marker. */
export function dataOf(text: string): JsonObject[] {
  return text
    .split("\n\n")
    .flatMap((frame) => frame.split("\n").filter((line) => line.startsWith("data: {")))
    .map((line) => JSON.parse(line.slice("data: ".length)) as JsonObject);
}

export function typesOf(text: string): string[] {
  return dataOf(text).map((data) => String(data["type"]));
}

/** A request that says nothing but "hi". */
export const plainRequest: IrRequest = {
  stream: false,
  system: [],
  messages: [{ role: "user", blocks: [{ type: "text", text: "hi" }] }],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  reasoning: null,
  format: null,
  maxOutputTokens: null,
  stop: [],
  sampling: { temperature: null, topP: null, topK: null },
  identity: { user: null, safetyIdentifier: null, promptCacheKey: null },
  serviceTier: null,
  verbosity: null,
  store: null,
  metadata: null,
};
