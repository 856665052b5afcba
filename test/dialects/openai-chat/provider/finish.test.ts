import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../../src/base/errors.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { clientDialect } from "../../../../src/dialects/registry.ts";
import { translate } from "../../../../src/dialects/translation/translate.ts";
import type { Translation } from "../../../../src/dialects/translation/translation.ts";
import { usualTargets } from "../../golden-file.ts";

/** What Messages and Responses clients get for each finish reason of a chat server, and for none. */
const words: readonly [word: string | null, stopReason: string, status: string, reason: string | null][] = [
  ["stop", "end_turn", "completed", null],
  ["eos", "end_turn", "completed", null],
  ["COMPLETE", "end_turn", "completed", null],
  ["", "end_turn", "completed", null],
  ["null", "end_turn", "completed", null],
  [null, "end_turn", "completed", null],
  ["length", "max_tokens", "incomplete", "max_output_tokens"],
  ["MAX_TOKENS", "max_tokens", "incomplete", "max_output_tokens"],
  ["model_length", "model_context_window_exceeded", "incomplete", "max_output_tokens"],
  ["model_context_window_exceeded", "model_context_window_exceeded", "incomplete", "max_output_tokens"],
  ["content_filter", "refusal", "incomplete", "content_filter"],
  ["content_filter: RECITATION", "refusal", "incomplete", "content_filter"],
  ["sensitive", "refusal", "incomplete", "content_filter"],
  ["MODEL_ARMOR", "refusal", "incomplete", "content_filter"],
  ["repetition", "refusal", "incomplete", "content_filter"],
  ["toString", "refusal", "incomplete", "content_filter"],
];

const failures = [
  ...["error", "network_error", "insufficient_system_resource", "abort", "TIMEOUT"],
  "function_call_filter: MALFORMED_FUNCTION_CALL",
];

function translationFor(client: "messages" | "responses", stream: boolean): Translation {
  const body: JsonObject =
    client === "messages"
      ? { max_tokens: 10, messages: [{ role: "user", content: "Hi" }], stream }
      : { input: "Hi", stream };
  const dialect = clientDialect(client);
  return translate({ dialect, body, model: "m", nowSeconds: 0, estimatedInputTokens: 1 }, usualTargets.chat);
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

function whole(client: "messages" | "responses", finish: string | null): JsonObject {
  const choice = { index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: finish };
  return translationFor(client, false).response({ choices: [choice], usage }).body;
}

function streamed(client: "messages" | "responses", finish: string | null): string {
  const stream = translationFor(client, true).stream();
  const push = (data: string) => stream.push({ event: "", data });
  let text = push(JSON.stringify({ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: null }] }));
  text += push(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: finish }], usage }));
  text += push("[DONE]") + stream.end();
  return text + stream.terminal();
}

describe.each([...words])("a chat server that ends with %o", (word, stopReason, status, reason) => {
  test("whole", () => {
    expect(whole("messages", word)).toMatchObject({ stop_reason: stopReason });
    expect(whole("responses", word)).toMatchObject({
      status,
      incomplete_details: reason === null ? null : { reason },
    });
  });

  test("in a stream", () => {
    expect(streamed("messages", word)).toContain(`"delta":{"stop_reason":"${stopReason}"`);
    expect(streamed("responses", word)).toContain(`event: response.${status}\n`);
  });
});

test("a word that nobody knows reaches the client", () => {
  expect(whole("messages", "repetition")).toMatchObject({
    stop_details: { explanation: expect.stringContaining("repetition") },
  });
  expect(whole("responses", "repetition")).toMatchObject({
    output: [{ content: [{ text: "Hi" }, { refusal: expect.stringContaining("repetition") }] }],
  });
});

describe.each(failures)("a chat server that ends with %s has failed", (word) => {
  test("whole or in a stream", () => {
    expect(() => whole("messages", word)).toThrow(GatewayError);
    expect(() => streamed("messages", word)).toThrow(GatewayError);
  });
});

test("calls of a server that does not say why it ends are calls", () => {
  const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
  const choice = { index: 0, message: { role: "assistant", content: "", tool_calls: [call] } };
  const { body } = translationFor("messages", false).response({ choices: [choice] });
  expect(body).toMatchObject({ stop_reason: "tool_use" });
});

test.each([{}, { message: null }, { message: { content: "" } }, { finish_reason: "stop" }])(
  "a choice with neither content nor a reason for it is no answer: %o",
  (choice) => {
    expect(() => translationFor("messages", false).response({ choices: [choice] })).toThrow(
      "an empty chat completion",
    );
  },
);
