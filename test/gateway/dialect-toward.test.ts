import { describe, expect, test } from "bun:test";
import { dialectToward } from "../../src/gateway/attempt/provider-call.ts";

const openai = ["chat", "responses"] as const;

describe("the dialect toward a provider", () => {
  test("is the client's own where the provider speaks it", () => {
    expect(dialectToward("chat", openai, {})).toBe("chat");
    expect(dialectToward("responses", openai, {})).toBe("responses");
    expect(dialectToward("messages", ["messages", "chat"], { stop_sequences: ["x"] })).toBe("messages");
  });

  test("is else the richest that it speaks", () => {
    expect(dialectToward("messages", openai, {})).toBe("responses");
    expect(dialectToward("responses", ["chat", "messages"], {})).toBe("messages");
    expect(dialectToward("responses", ["chat"], {})).toBe("chat");
  });

  test("is chat for stop sequences, which responses has not, where the provider speaks both", () => {
    expect(dialectToward("messages", openai, { stop_sequences: ["END"] })).toBe("chat");
    expect(dialectToward("messages", openai, { stop_sequences: [] })).toBe("responses");
    expect(dialectToward("messages", ["responses"], { stop_sequences: ["END"] })).toBe("responses");
  });
});
