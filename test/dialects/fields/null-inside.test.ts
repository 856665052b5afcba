import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import * as messages from "../../../src/dialects/anthropic-messages/client/fields.ts";
import type { FieldDecisions } from "../../../src/dialects/contract/field-decisions.ts";
import * as chat from "../../../src/dialects/openai-chat/client/fields.ts";
import * as responses from "../../../src/dialects/openai-responses/client/fields.ts";
import { providerDialectNames } from "../../../src/dialects/registry.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";
import { translated } from "./examples.ts";

describe("null inside of a request is as good as nothing", () => {
  const picture = "data:image/png;base64,AAAA";

  /** The object with null in every field of the table that it lacks. */
  function padded(object: JsonObject, table: FieldDecisions): JsonObject {
    return { ...Object.fromEntries(Object.keys(table).map((name) => [name, null])), ...object };
  }

  const inner: readonly [BodyDialectName, (pad: typeof padded) => JsonObject][] = [
    [
      "chat",
      (pad) => {
        const text = pad({ type: "text", text: "Hi" }, chat.partFields.text);
        const image = { url: picture, detail: null };
        const part = pad({ type: "image_url", image_url: image }, chat.partFields.image_url);
        const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" }, custom: null };
        const tool = pad({ name: "f" }, chat.functionFields);
        return {
          messages: [
            pad({ role: "user", content: [text, part] }, chat.messageFields),
            pad({ role: "assistant", tool_calls: [call] }, chat.messageFields),
            pad({ role: "tool", tool_call_id: "c", content: "fog" }, chat.messageFields),
          ],
          tools: [{ type: "function", function: tool, cache_control: null }],
          response_format: {
            type: "json_schema",
            json_schema: { name: "a", schema: { type: "object" }, description: null, strict: null },
          },
        };
      },
    ],
    [
      "responses",
      (pad) => {
        const { itemFields, partFields } = responses;
        const text = pad({ type: "input_text", text: "Hi" }, partFields.input_text);
        const image = pad({ type: "input_image", image_url: picture }, partFields.input_image);
        const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
        const output = { type: "function_call_output", call_id: "c", output: "fog" };
        return {
          input: [
            pad({ role: "user", content: [text, image] }, itemFields.message),
            pad(call, itemFields.function_call),
            pad(output, itemFields.function_call_output),
          ],
          tools: [pad({ type: "function", name: "f" }, responses.functionFields)],
          reasoning: pad({ effort: "low" }, responses.reasoningFields),
          text: pad({}, responses.textFields),
        };
      },
    ],
    [
      "messages",
      (pad) => {
        const { blockFields } = messages;
        const text = pad({ type: "text", text: "Hi" }, blockFields.text);
        const source = { type: "base64", media_type: "image/png", data: "AAAA" };
        const image = pad({ type: "image", source }, blockFields.image);
        const call = pad({ type: "tool_use", id: "t", name: "f", input: {} }, blockFields.tool_use);
        const result = pad({ type: "tool_result", tool_use_id: "t" }, blockFields.tool_result);
        const thinking = { type: "enabled", budget_tokens: 2048 };
        return {
          messages: [
            pad({ role: "user", content: [text, image] }, messages.messageFields),
            pad({ role: "assistant", content: [call] }, messages.messageFields),
            pad({ role: "user", content: [result] }, messages.messageFields),
          ],
          tools: [pad({ name: "f", input_schema: { type: "object" } }, messages.toolFields)],
          tool_choice: { type: "auto", disable_parallel_tool_use: null },
          thinking: pad(thinking, messages.thinkingFields),
          output_config: pad({}, messages.outputConfigFields),
          metadata: pad({}, messages.metadataFields),
        };
      },
    ],
  ];

  test.each(inner)("%s", (client, request) => {
    for (const toward of providerDialectNames.filter((name) => name !== client)) {
      const plain = translated(
        client,
        toward,
        request((object) => object),
      );
      expect(translated(client, toward, request(padded))).toEqual(plain);
    }
  });
});
