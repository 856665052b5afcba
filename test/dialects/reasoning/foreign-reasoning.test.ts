import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { wrapReasoning } from "../../../src/dialects/reasoning/reasoning-envelope.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";

const envelope = wrapReasoning({ maker: "chat" }, ["hm"]);
const foreign = { type: "thinking", thinking: "hm", signature: envelope };
const own = { type: "thinking", thinking: "hm", signature: "EqQB" };
const call = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "fog" }] };
const question = { role: "user", content: "Fog?" };

/** The body that goes up, and the field that is reported as dropped. */
function stripForeignReasoning(dialect: BodyDialectName, body: JsonObject) {
  const { stripForeignReasoning: strip, fieldNames } = clientDialect(dialect);
  const stripped = strip(body);
  return { body: stripped, dropped: stripped === body ? null : fieldNames.reasoning };
}

function bytesOf(body: JsonObject): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(body));
}

describe("a conversation for Anthropic", () => {
  test("loses the thinking of others, and keeps Anthropic's own bit by bit", () => {
    const body = {
      messages: [question, { role: "assistant", content: [foreign, own, call] }, result],
      thinking: { type: "adaptive" },
    };
    expect(clientDialect("messages").mayHoldForeignReasoning(bytesOf(body))).toBe(true);
    expect(stripForeignReasoning("messages", body)).toEqual({
      body: { ...body, messages: [question, { role: "assistant", content: [own, call] }, result] },
      dropped: "thinking",
    });
  });

  test("loses the citations of others, whose index Anthropic cannot read, and keeps its own", () => {
    const cite = (index: string) => ({
      type: "web_search_result_location",
      url: "https://a.example",
      title: null,
      cited_text: "",
      encrypted_index: index,
    });
    const mixed = { type: "text", text: "Fog.", citations: [cite("slu1."), cite("EqQB")] };
    const translated = { type: "text", text: "Still.", citations: [cite("slu1.")] };
    const body = { messages: [question, { role: "assistant", content: [mixed, translated] }, question] };
    expect(clientDialect("messages").mayHoldForeignReasoning(bytesOf(body))).toBe(true);
    const kept = [
      { type: "text", text: "Fog.", citations: [cite("EqQB")] },
      { type: "text", text: "Still." },
    ];
    const stripped = { messages: [question, { role: "assistant", content: kept }, question] };
    expect(stripForeignReasoning("messages", body).body).toEqual(stripped);
    expect(stripForeignReasoning("messages", stripped).body).toBe(stripped);
  });

  test("has no empty messages", () => {
    const body = { messages: [question, { role: "assistant", content: [foreign] }, question] };
    expect(stripForeignReasoning("messages", body).body).toEqual({ messages: [question, question] });
  });

  test("does not think with a budget where the calls that it goes on from have lost their thinking", () => {
    const budget = { type: "enabled", budget_tokens: 2000 };
    const turn = (...content: JsonObject[]) => ({
      messages: [question, { role: "assistant", content }, result],
      thinking: budget,
    });
    expect(stripForeignReasoning("messages", turn(foreign, call)).body["thinking"]).toEqual({
      type: "disabled",
    });
    expect(stripForeignReasoning("messages", turn(foreign, own, call)).body["thinking"]).toEqual(budget);
  });

  test("nor where another model has called them without any", () => {
    const body = (content: JsonObject[]) => ({
      messages: [question, { role: "assistant", content }, result, question, question],
      thinking: { type: "enabled", budget_tokens: 2000 },
    });
    expect(clientDialect("messages").mayHoldForeignReasoning(bytesOf(body([call])))).toBe(true);
    expect(stripForeignReasoning("messages", body([call]))).toEqual({
      body: { ...body([call]), thinking: { type: "disabled" } },
      dropped: "thinking",
    });
    const thought = body([own, call]);
    expect(stripForeignReasoning("messages", thought).body).toBe(thought);
    const answered = {
      ...body([call]),
      messages: [...body([call]).messages, { role: "assistant", content: "Fog." }, question],
    };
    expect(stripForeignReasoning("messages", answered).body).toBe(answered);
    const adaptive = { ...body([call]), thinking: { type: "adaptive" } };
    expect(stripForeignReasoning("messages", adaptive).body).toBe(adaptive);
  });
});

describe("a conversation for OpenAI", () => {
  test("loses the reasoning of others, and keeps OpenAI's own", () => {
    const ours = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: envelope };
    const theirs = { type: "reasoning", id: "rs_2", summary: [], encrypted_content: "gAAAA" };
    const body = { input: [question, ours, theirs] };
    expect(stripForeignReasoning("responses", body)).toEqual({
      body: { input: [question, theirs] },
      dropped: "reasoning",
    });
  });
});

test("a body that only speaks of envelopes is left alone", () => {
  const body = { messages: [{ role: "user", content: [{ type: "text", text: `"${envelope}"` }] }] };
  expect(stripForeignReasoning("messages", body)).toEqual({ body, dropped: null });
  expect(clientDialect("messages").mayHoldForeignReasoning(bytesOf({ messages: [question] }))).toBe(false);
});
