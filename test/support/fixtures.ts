import { readFileSync } from "node:fs";
import type { ProviderDialectName } from "../../src/dialects/registry.ts";

import { type Answer, json, openAiError, sse, text } from "./answers.ts";
import type { SeenRequest } from "./provider.ts";

/**
 * Provider bodies as they are on the wire, in every dialect. The texts have letters of one to four
 * bytes, so that a cut at any byte can fall inside of one.
 */
export type FixtureName =
  | `chat/${"text" | "text-without-usage" | "cached-usage" | "tools" | "reasoning" | "crlf-comments"}.sse`
  | `responses/${"text" | "tools" | "reasoning" | "incomplete"}.sse`
  | `messages/${"text" | "cached" | "tools" | "thinking"}.sse`
  | `converse/${"text" | "tools" | "reasoning"}.sse`
  | `gemini/${"text" | "tools" | "reasoning" | "cached" | "long"}.sse`
  | `${"chat" | "responses" | "messages" | "gemini"}/${"text" | "tools"}.json`;

export type StreamName = Extract<FixtureName, `${string}.sse`>;

type StreamNames = Readonly<Record<ProviderDialectName, readonly StreamName[]>>;

/** Streams in which the provider tells its figures. */
export const streamsWithUsage: StreamNames = {
  chat: [
    "chat/text.sse",
    "chat/tools.sse",
    "chat/reasoning.sse",
    "chat/cached-usage.sse",
    "chat/crlf-comments.sse",
  ],
  responses: [
    "responses/text.sse",
    "responses/tools.sse",
    "responses/reasoning.sse",
    "responses/incomplete.sse",
  ],
  messages: ["messages/text.sse", "messages/tools.sse", "messages/thinking.sse", "messages/cached.sse"],
  // Bedrock's streams are binary; this is what becomes of them at the receiver.
  converse: ["converse/text.sse", "converse/tools.sse", "converse/reasoning.sse"],
  gemini: [
    "gemini/text.sse",
    "gemini/tools.sse",
    "gemini/reasoning.sse",
    "gemini/cached.sse",
    "gemini/long.sse",
  ],
};

export const allStreams: StreamNames = {
  ...streamsWithUsage,
  chat: [...streamsWithUsage.chat, "chat/text-without-usage.sse"],
};

/** The text that every `text` fixture says. */
export const fixtureText = "Sluices keep the canal navigable: né à 😀.";

export function fixture(name: FixtureName): string {
  return readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8");
}

/** The fixture as a good answer of the right content type. */
export function answerFrom(name: FixtureName): Answer {
  const body = fixture(name);
  return name.endsWith(".sse") ? sse(body) : text(body, "application/json");
}

/** What a healthy provider says: in the dialect of the path, streamed when asked, with usage when asked. */
export function usualResponse(request: SeenRequest): Answer {
  const form = request.body["stream"] === true ? "sse" : "json";
  if (request.path.endsWith("/chat/completions")) {
    const asksForUsage = JSON.stringify(request.body["stream_options"] ?? {}).includes(
      '"include_usage":true',
    );
    if (form === "sse" && !asksForUsage) return answerFrom("chat/text-without-usage.sse");
    return answerFrom(`chat/text.${form}`);
  }
  if (request.path.endsWith("/responses")) return answerFrom(`responses/text.${form}`);
  if (request.path.endsWith("/messages/count_tokens")) return json({ input_tokens: 25 });
  if (request.path.endsWith("/messages")) return answerFrom(`messages/text.${form}`);
  if (request.path.includes(":streamGenerateContent")) return answerFrom("gemini/text.sse");
  if (request.path.endsWith(":generateContent")) return answerFrom("gemini/text.json");
  return openAiError(404, `unknown path ${request.path}`);
}
