import { describe, expect, test } from "bun:test";
import { ClientRequest, checkRequest, type Expected } from "../../src/gateway/request/request.ts";
import { ResponseItemCache, withCachedItems } from "../../src/gateway/request/response-item-cache.ts";
import { FakeClock } from "../support/clock.ts";

const hour = 60 * 60_000;
const message = (id: string, text = "Let me look.") =>
  JSON.stringify({ type: "message", id, role: "assistant", content: [{ type: "output_text", text }] });

describe("items of translated answers", () => {
  test("are found by the key whose answer they came in, for an hour", () => {
    const clock = new FakeClock();
    const cache = new ResponseItemCache(clock);
    cache.add("key_1", [message("msg_1"), '{"type":"odd"}']);
    expect(cache.find("key_1", "msg_1")).toMatchObject({ id: "msg_1" });
    expect(cache.find("key_2", "msg_1")).toBeNull();
    expect(cache.find("key_1", "msg_2")).toBeNull();
    clock.advance(hour + 1);
    expect(cache.find("key_1", "msg_1")).toBeNull();
  });

  test("are evicted by newer ones, and are never larger than a megabyte", () => {
    const cache = new ResponseItemCache(new FakeClock());
    const large = "x".repeat(900_000);
    for (let index = 0; index < 50; index += 1) cache.add("key_1", [message(`msg_${index}`, large)]);
    expect(cache.find("key_1", "msg_0")).toBeNull();
    expect(cache.find("key_1", "msg_49")).not.toBeNull();
    cache.add("key_1", [message("msg_huge", "x".repeat(1_100_000))]);
    expect(cache.find("key_1", "msg_huge")).toBeNull();
  });
});

describe("a request that refers to items", () => {
  const expected: Expected = {
    kind: "responses",
    options: { anthropicBeta: false },
    limits: { maxMembers: 1000, maxListItems: 1000 },
  };
  const cache = new ResponseItemCache(new FakeClock());
  cache.add("key_1", [message("msg_1")]);

  function expanded(input: unknown): { readonly input: unknown; readonly isSame: boolean } {
    const bytes = Buffer.from(JSON.stringify({ model: "m", input }));
    const request = new ClientRequest(bytes, checkRequest(bytes, expected));
    const result = withCachedItems(request, expected, cache, "key_1");
    return { input: result.body["input"], isSame: result === request };
  }

  test("gets them in their place, however the reference is written", () => {
    const question = { role: "user", content: "Hello" };
    for (const reference of [{ type: "item_reference", id: "msg_1" }, { id: "msg_1" }]) {
      const { input } = expanded([question, reference, question]);
      expect(input).toEqual([question, JSON.parse(message("msg_1")), question]);
    }
  });

  test("stays as it is if none of them is cached", () => {
    for (const input of [
      "Hello",
      [{ role: "user", content: "Hello" }],
      [{ type: "item_reference", id: "msg_2" }],
    ]) {
      expect(expanded(input)).toEqual({ input, isSame: true });
    }
  });
});
