import { describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { JsonObject } from "../../src/base/json.ts";
import { SseDecoder } from "../../src/dialects/sse/sse.ts";
import { type Golden, readGoldens, translationOf } from "./golden-file.ts";
import { bytesOf, requestOf } from "./golden-run.ts";

/**
 * The strictest readers of each dialect are the helpers of the vendors' own libraries. Every stream of the
 * golden files goes through them, and what they put together must be the response that would have been
 * written without streaming. What ends in a failure must be one to them as well.
 */
const streams = readGoldens().filter((golden) => golden.sections.has("client reads"));

const options = { apiKey: "none", maxRetries: 0 };

function answering(text: string) {
  return async () => new Response(text, { headers: { "content-type": "text/event-stream" } });
}

async function chatMessage(text: string): Promise<unknown> {
  const client = new OpenAI({ ...options, fetch: answering(text) });
  const messages = [{ role: "user" as const, content: "hi" }];
  const completion = await client.chat.completions.stream({ model: "m", messages }).finalChatCompletion();
  const [choice] = completion.choices;
  return { finish: choice?.finish_reason, ...choice?.message };
}

async function messagesMessage(text: string): Promise<unknown> {
  const client = new Anthropic({ ...options, fetch: answering(text) });
  const messages = [{ role: "user" as const, content: "hi" }];
  return client.messages.stream({ model: "m", max_tokens: 9, messages }).finalMessage();
}

async function responsesResponse(text: string): Promise<JsonObject> {
  const client = new OpenAI({ ...options, fetch: answering(text) });
  const stream = client.responses.stream({ model: "m", input: "hi" });
  return JSON.parse(JSON.stringify(await stream.finalResponse()));
}

/** What the whole response would have said; null when the stream ends in a failure. */
function collected(golden: Golden): JsonObject | null {
  const collector = translationOf(golden, requestOf(golden)).collect();
  const decoder = new SseDecoder();
  try {
    const stream = golden.sections.get("provider streams") ?? "";
    for (const frame of [...decoder.push(bytesOf(stream)), ...decoder.end()]) collector.push(frame);
    return collector.end().body;
  } catch {
    return null;
  }
}

function textOf(golden: Golden): string {
  return golden.sections.get("client reads") ?? "";
}

describe("openai's chat.completions.stream()", () => {
  for (const golden of streams.filter(({ client }) => client === "chat")) {
    test(golden.file, async () => {
      const whole = collected(golden);
      if (whole === null) {
        await expect(chatMessage(textOf(golden))).rejects.toThrow();
        return;
      }
      const [choice] = whole["choices"] as [{ finish_reason: string; message: JsonObject }];
      const read = (await chatMessage(textOf(golden))) as JsonObject;
      expect(read["finish"]).toBe(choice.finish_reason);
      expect(read["content"] || null).toEqual(choice.message["content"] || null);
      expect(read["refusal"] ?? null).toEqual(choice.message["refusal"] ?? null);
      expect(withoutParsed(read["tool_calls"])).toEqual(choice.message["tool_calls"] ?? null);
    });
  }
});

/** The library adds what it made of the arguments; only what came from the wire is compared. */
function withoutParsed(calls: unknown): unknown {
  if (calls === undefined) return null;
  return JSON.parse(
    JSON.stringify(calls, (name, value) => (name === "parsed_arguments" ? undefined : value)),
  );
}

describe("anthropic's messages.stream()", () => {
  for (const golden of streams.filter(({ client }) => client === "messages")) {
    test(golden.file, async () => {
      const whole = collected(golden);
      if (whole === null) {
        await expect(messagesMessage(textOf(golden))).rejects.toThrow();
        return;
      }
      const read = JSON.parse(JSON.stringify(await messagesMessage(textOf(golden))));
      expect(withoutMinted(read["content"])).toEqual(withoutMinted(whole["content"]));
      expect(read["stop_reason"]).toBe(whole["stop_reason"]);
      expect(read["usage"].output_tokens).toBe((whole["usage"] as JsonObject)["output_tokens"]);
    });
  }
});

describe("openai's responses.stream()", () => {
  for (const golden of streams.filter(({ client }) => client === "responses")) {
    test(golden.file, async () => {
      const whole = collected(golden);
      const read = await responsesResponse(textOf(golden));
      if (whole === null) {
        expect(read["status"]).toBe("failed");
        return;
      }
      expect(read["status"]).toBe(whole["status"]);
      expect(withoutMinted(read["output"])).toEqual(withoutMinted(whole["output"]));
    });
  }
});

/** Ids that are made here count on from one translation to the next, and what the library parsed is its own. */
function withoutMinted(value: unknown): unknown {
  const own = new Set(["id", "parsed", "parsed_arguments"]);
  const isMinted = (name: string, inner: unknown) => name === "call_id" && /^call_\d+$/.test(String(inner));
  return JSON.parse(
    JSON.stringify(value, (name, inner) => (own.has(name) || isMinted(name, inner) ? undefined : inner)),
  );
}
