import { GatewayError } from "../../src/base/errors.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { SseDecoder } from "../../src/dialects/sse/sse.ts";
import { type Golden, jsonSection, pretty, translationOf } from "./golden-file.ts";

/** What really happens, section by section, in the words of the file. */
export function outcomeOf(golden: Golden): Map<string, string> {
  const body = jsonSection(golden, "client sends") ?? simplest(golden);
  try {
    return translated(golden, body);
  } catch (error) {
    return new Map([["refused", `${described(error)}\n`]]);
  }
}

function translated(golden: Golden, body: JsonObject): Map<string, string> {
  const outcome = new Map<string, string>();
  const translation = translationOf(golden, body);
  if (golden.sections.has("client sends")) {
    outcome.set("provider receives", `${pretty(translation.body)}\n`);
    if (translation.dropped.length > 0) outcome.set("dropped", `${translation.dropped.join(", ")}\n`);
  }
  const answer = jsonSection(golden, "provider answers");
  if (answer !== null) outcome.set("client receives", `${pretty(translation.response(answer).body)}\n`);
  const stream = golden.sections.get("provider streams");
  if (stream !== undefined) outcome.set("client reads", clientText(golden, body, [bytesOf(stream)]));
  return outcome;
}

/** For a file that is about an answer only. */
function simplest(golden: Golden): JsonObject {
  const stream = golden.sections.has("provider streams");
  const messages = [{ role: "user", content: "hi" }];
  if (golden.client === "responses") return { model: "house-model", input: "hi", stream };
  return { model: "house-model", max_tokens: 1000, messages, stream };
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Everything the client reads when the provider's bytes come in these pieces, however it ends. */
export function clientText(golden: Golden, body: JsonObject, pieces: Iterable<Uint8Array>): string {
  const stream = translationOf(golden, body).stream();
  const decoder = new SseDecoder();
  let text = "";
  try {
    for (const piece of pieces) for (const frame of decoder.push(piece)) text += stream.push(frame);
    for (const frame of decoder.end()) text += stream.push(frame);
    text += stream.end();
    return text + stream.terminal();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // What is charged is not known here; what the provider has reported stands in for it.
    return text + stream.failure(error, "req_1", stream.found.partialUsage);
  }
}

export function requestOf(golden: Golden): JsonObject {
  return jsonSection(golden, "client sends") ?? simplest(golden);
}

function described(error: unknown): string {
  if (!(error instanceof GatewayError)) throw error;
  return `${error.status} ${error.code}${error.param === undefined ? "" : ` at ${error.param}`}\n${error.message}`;
}
