import { expect, test } from "bun:test";
import OpenAI from "openai";
import { GatewayError } from "../../../src/base/errors.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import type { IrResponse } from "../../../src/dialects/ir/ir.ts";
import { openAiResponses } from "../../../src/dialects/openai-responses/index.ts";
import { collected } from "../ir-events.ts";
import { callOf, targetOf } from "./support.ts";

const answer: IrResponse = {
  blocks: [
    { type: "reasoning", parts: ["hmm"], signature: null },
    { type: "text", text: "Hello" },
    { type: "tool_call", id: "call_1", kind: "function", namespace: null, name: "f", input: "" },
  ],
  finish: { reason: "tool_calls", stopSequence: null, explanation: null },
  usage: null,
  serviceTier: null,
};

function failureOf(body: JsonObject): GatewayError {
  try {
    openAiResponses.provider.readResponse(body, targetOf());
  } catch (error) {
    if (error instanceof GatewayError) return error;
  }
  throw new Error("the response was read without a failure");
}

test("every required field of the Response object is there", () => {
  const body = openAiResponses.client.writeResponse(
    answer,
    callOf({ instructions: "be brief", max_output_tokens: 9 }),
  );
  const required = [
    ...["id", "object", "created_at", "status", "error", "incomplete_details", "instructions", "model"],
    ...["output", "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p", "text", "reasoning"],
    ...["usage", "metadata", "store", "previous_response_id", "max_output_tokens", "truncation"],
  ];
  for (const field of required) expect(body).toHaveProperty(field);
  expect(body).toMatchObject({
    id: "resp_1",
    object: "response",
    status: "completed",
    model: "house-model",
    instructions: "be brief",
    max_output_tokens: 9,
    store: false,
    output: [
      { id: "rs_2", type: "reasoning", summary: [{ type: "summary_text", text: "hmm" }] },
      { id: "msg_3", type: "message", role: "assistant", status: "completed" },
      { id: "fc_4", type: "function_call", call_id: "call_1", arguments: "{}", status: "completed" },
    ],
    usage: { input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 }, total_tokens: 0 },
  });
});

test("the official client reads it", async () => {
  const body = openAiResponses.client.writeResponse(answer, callOf({}));
  const client = new OpenAI({
    apiKey: "none",
    baseURL: "http://localhost/v1",
    maxRetries: 0,
    fetch: async () => Response.json(body),
  });
  const read = await client.responses.create({ model: "house-model", input: "hi" });
  expect(read.output_text).toBe("Hello");
});

test("T1 incomplete answers say why, and their last item is incomplete", () => {
  const finish = { reason: "length", stopSequence: null, explanation: null } as const;
  const body = openAiResponses.client.writeResponse({ ...answer, finish }, callOf({}));
  expect(body).toMatchObject({
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
    output: [{}, { status: "completed" }, { status: "incomplete" }],
  });
});

test("T1/C80 a refusal that is only explained is said as a refusal", () => {
  const body = openAiResponses.client.writeResponse(
    { ...answer, blocks: [], finish: { reason: "refusal", stopSequence: null, explanation: "No." } },
    callOf({}),
  );
  expect(body).toMatchObject({
    status: "incomplete",
    incomplete_details: { reason: "content_filter" },
    output: [{ type: "message", content: [{ type: "refusal", refusal: "No." }] }],
  });
});

test("a failed response, an error in disguise and nonsense are failures (C75)", () => {
  const failed = {
    object: "response",
    status: "failed",
    output: [],
    error: { code: "server_error", message: "x" },
  };
  expect(failureOf(failed)).toMatchObject({ code: "upstream_error", message: "x" });
  expect(failureOf({ error: { message: "busy", type: "overloaded_error" } }).code).toBe(
    "service_unavailable",
  );
  expect(failureOf({ object: "response", status: "in_progress", output: [] }).code).toBe("upstream_error");
  expect(failureOf({ hello: "world" }).code).toBe("upstream_error");
});

test("the provider's signature is kept as it is, even when it looks like one of ours (C44)", () => {
  const { blocks } = collected(
    openAiResponses.provider.readResponse(
      {
        status: "completed",
        output: [{ id: "rs_1", type: "reasoning", summary: [], encrypted_content: "slu1.another-gateway" }],
      },
      targetOf(),
    ),
  );
  expect(blocks).toEqual([
    {
      type: "reasoning",
      parts: [],
      signature: { maker: "openai", id: "rs_1", encryptedContent: "slu1.another-gateway", raw: false },
    },
  ]);
});
