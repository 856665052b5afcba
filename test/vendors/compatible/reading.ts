import type { JsonObject } from "../../../src/base/json.ts";
import type { ReportedUsage } from "../../../src/base/usage/usage.ts";
import { EventCollector } from "../../../src/dialects/ir/events.ts";
import type { IrResponse } from "../../../src/dialects/ir/ir.ts";
import { ChatScanner } from "../../../src/dialects/openai-chat/provider/stream-scanner.ts";
import type { Quirk } from "../../../src/dialects/openai-chat/quirks.ts";
import type { Target } from "../../../src/dialects/provider-dialect.ts";
import { providerDialect } from "../../../src/dialects/registry.ts";
import { FrameJoiner } from "../../../src/dialects/sse/frame-joiner.ts";
import { SseDecoder } from "../../../src/dialects/sse/sse.ts";

export function chatTarget(quirks: readonly Quirk[] = [], changes: Partial<Target> = {}): Target {
  return {
    dialect: providerDialect("chat"),
    upstreamModel: "some-model",
    provider: "p",
    isStrict: false,
    maxOutputTokens: null,
    maxTokensField: "max_tokens",
    streamUsage: true,
    capabilities: {},
    quirks,
    ...changes,
  };
}

/** Each line becomes an event, unless it is a comment. */
export function sseOf(events: readonly (JsonObject | string)[]): string {
  return events
    .map((event) => (typeof event === "string" ? event : `data: ${JSON.stringify(event)}`))
    .map((line) => `${line}\n\n`)
    .join("");
}

/** What a translated stream says, read in pieces of this size. */
export function readStream(text: string, quirks: readonly Quirk[] = [], pieceBytes = 1_000_000): IrResponse {
  const collector = new EventCollector();
  const reader = providerDialect("chat").createStreamReader(
    (event) => collector.push(event),
    chatTarget(quirks),
  );
  const decoder = new SseDecoder();
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    decoder.feed(bytes.subarray(at, at + pieceBytes));
    for (let frame = decoder.next(); frame !== null; frame = decoder.next()) reader.push(frame);
  }
  for (const frame of decoder.end()) reader.push(frame);
  reader.end();
  return collector.response();
}

/** What is charged for a stream that passes through. */
export function passedUsage(text: string): ReportedUsage | null {
  const scanner = new ChatScanner({ hideUsage: true });
  const joiner = new FrameJoiner();
  const events = joiner.push(new TextEncoder().encode(text));
  if (events !== null) scanner.pass(events);
  return scanner.usage;
}
