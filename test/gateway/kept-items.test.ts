import { describe, expect, test } from "bun:test";
import { KeptItems, withKeptItems } from "../../src/gateway/request/kept-items.ts";
import { ClientRequest, checkRequest, type Expected } from "../../src/gateway/request/request.ts";
import { FakeClock } from "../support/clock.ts";

const hour = 60 * 60_000;
const message = (id: string, text = "Let me look.") =>
  JSON.stringify({ type: "message", id, role: "assistant", content: [{ type: "output_text", text }] });

describe("items of translated answers", () => {
  test("are found by the key whose answer they came in, for an hour", () => {
    const clock = new FakeClock();
    const kept = new KeptItems(clock);
    kept.keep("key_1", [message("msg_1"), '{"type":"odd"}']);
    expect(kept.find("key_1", "msg_1")).toMatchObject({ id: "msg_1" });
    expect(kept.find("key_2", "msg_1")).toBeNull();
    expect(kept.find("key_1", "msg_2")).toBeNull();
    clock.advance(hour + 1);
    expect(kept.find("key_1", "msg_1")).toBeNull();
  });

  test("give way to newer ones, and are never larger than a megabyte", () => {
    const kept = new KeptItems(new FakeClock());
    const large = "x".repeat(900_000);
    for (let index = 0; index < 50; index += 1) kept.keep("key_1", [message(`msg_${index}`, large)]);
    expect(kept.find("key_1", "msg_0")).toBeNull();
    expect(kept.find("key_1", "msg_49")).not.toBeNull();
    kept.keep("key_1", [message("msg_huge", "x".repeat(1_100_000))]);
    expect(kept.find("key_1", "msg_huge")).toBeNull();
  });
});

describe("a request that refers to items", () => {
  const expected: Expected = {
    kind: "responses",
    options: { anthropicBeta: false },
    limits: { maxMembers: 1000, maxListItems: 1000 },
  };
  const kept = new KeptItems(new FakeClock());
  kept.keep("key_1", [message("msg_1")]);

  function expanded(input: unknown): { readonly input: unknown; readonly isSame: boolean } {
    const bytes = Buffer.from(JSON.stringify({ model: "m", input }));
    const request = new ClientRequest(bytes, checkRequest(bytes, expected));
    const result = withKeptItems(request, expected, kept, "key_1");
    return { input: result.body["input"], isSame: result === request };
  }

  test("gets them in their place, however the reference is written", () => {
    const question = { role: "user", content: "Hello" };
    for (const reference of [{ type: "item_reference", id: "msg_1" }, { id: "msg_1" }]) {
      const { input } = expanded([question, reference, question]);
      expect(input).toEqual([question, JSON.parse(message("msg_1")), question]);
    }
  });

  test("stays as it is if none of them is kept here", () => {
    for (const input of [
      "Hello",
      [{ role: "user", content: "Hello" }],
      [{ type: "item_reference", id: "msg_2" }],
    ]) {
      expect(expanded(input)).toEqual({ input, isSame: true });
    }
  });
});
