import { expect, test } from "bun:test";
import { unknownModelIn, unknownModelMessage } from "../../../src/base/models/unknown-model.ts";

test("the name in a message is read as it was written, bounded and without what could end or break a line", () => {
  const roundTrip = (name: string) => unknownModelIn(unknownModelMessage(name));
  expect(roundTrip("gpt-5.6")).toBe("gpt-5.6");
  expect(roundTrip("a b/ü@1:2")).toBe("a b/ü@1:2");
  expect(roundTrip('a"; b')).toBe("a?; b");
  expect(roundTrip("a\r\n\u2028\u202e\u0007b")).toBe("a?????b");
  expect(roundTrip("x".repeat(100))).toBe("x".repeat(100));
  expect(roundTrip("x".repeat(101))).toBe(`${"x".repeat(100)}…`);
  expect(roundTrip("")).toBe("");
});

test("no other message has one", () => {
  expect(unknownModelIn(null)).toBeNull();
  expect(unknownModelIn('He said: There is no model "x"; really')).toBeNull();
  expect(unknownModelIn("There is no model x")).toBeNull();
});
