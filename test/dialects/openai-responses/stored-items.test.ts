import { describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import { isItemReference, lacksContent } from "../../../src/dialects/openai-responses/stored-items.ts";

const nothing: readonly (Json | undefined)[] = [undefined, null, "", [], {}];

describe("a reference to an item", () => {
  test("has its type, or neither a type nor a role", () => {
    expect(isItemReference({ id: "a", type: "item_reference" })).toBe(true);
    expect(isItemReference({ id: "a", type: "item_reference", role: "user" })).toBe(true);
    for (const type of nothing) {
      for (const role of nothing) expect(isItemReference({ id: "a", type, role } as JsonObject)).toBe(true);
      expect(isItemReference({ id: "a", type, role: "user" } as JsonObject)).toBe(false);
      expect(isItemReference({ id: "a", type: "message", role: type } as JsonObject)).toBe(false);
    }
  });

  test("has an id, and is an object", () => {
    for (const id of nothing)
      expect(isItemReference({ id, type: "item_reference" } as JsonObject)).toBe(false);
    for (const item of [undefined, null, "a", 1, ["a"]]) expect(isItemReference(item)).toBe(false);
  });
});

describe("an item lacks its content", () => {
  test("only if it has an id", () => {
    for (const id of nothing) expect(lacksContent({ id, type: "message" } as JsonObject)).toBe(false);
    expect(lacksContent({ id: "a", type: "message" })).toBe(true);
  });

  test("if the member that holds it is empty, or no text and no list of parts", () => {
    for (const [type, member] of [
      ["message", "content"],
      ["", "content"],
      ["reasoning", "encrypted_content"],
      ["compaction", "encrypted_content"],
      ["compaction_summary", "encrypted_content"],
      ["image_generation_call", "result"],
    ] as const) {
      for (const value of [...nothing, 7, true, { a: 1 }]) {
        const item = { id: "a", type, role: "assistant", note: "x", [member]: value } as JsonObject;
        expect(lacksContent(item), JSON.stringify(item)).toBe(true);
      }
      for (const value of ["x", ["x"], [{}]]) {
        expect(lacksContent({ id: "a", type, [member]: value })).toBe(false);
      }
    }
  });

  test("if nothing else is in it, for a type that has no one place for it", () => {
    const bare = {
      id: "a",
      type: "web_search_call",
      role: "x",
      status: "completed",
      phase: "x",
      call_id: "c",
    };
    for (const value of nothing) expect(lacksContent({ ...bare, action: value } as JsonObject)).toBe(true);
    for (const value of ["x", 0, false, ["x"], { a: 1 }])
      expect(lacksContent({ ...bare, action: value })).toBe(false);
    expect(lacksContent({ id: "a", type: ["message"], content: [] })).toBe(true);
    expect(lacksContent({ id: "a", type: "constructor" })).toBe(true);
  });
});
