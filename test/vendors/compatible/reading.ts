import type { JsonObject } from "../../../src/base/json.ts";
import type { ReportedUsage } from "../../../src/base/usage/usage.ts";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import type { Quirk } from "../../../src/dialects/contract/quirks.ts";
import { EventCollector } from "../../../src/dialects/ir/events.ts";
import type { IrResponse } from "../../../src/dialects/ir/ir.ts";
import { ChatStreamReader } from "../../../src/dialects/openai-chat/provider/stream-in.ts";
import { providerDialect } from "../../../src/dialects/registry.ts";
import { answerOf, foundAfter } from "../../support/read-stream.ts";

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
  const reader = providerDialect("chat").createStreamReader({ target: chatTarget(quirks) });
  const bytes = new TextEncoder().encode(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
  for (const event of answerOf(reader, pieces)) collector.push(event);
  return collector.response();
}

/** What is charged for a stream that passes through. */
export function passedUsage(text: string): ReportedUsage | null {
  const { usage } = foundAfter(new ChatStreamReader({ target: null }), text);
  if (usage === null) return null;
  const { isUpToDate: _, ...figures } = usage;
  return figures;
}
