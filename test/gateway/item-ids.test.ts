import { expect, test } from "bun:test";
import { cutText } from "../../src/dialects/json/parse-body.ts";
import { mayBeMinted, newGroup, ownGroupOf } from "../../src/gateway/turns/item-ids.ts";

test("a group is stored only for items without ids of a response whose id does not say theirs", () => {
  expect(ownGroupOf("resp_usual", [{ id: null }])).toBeNull();
  expect(ownGroupOf("not-usual", [{ id: "msg_1" }, { id: "msg_2" }])).toBeNull();
  expect(ownGroupOf("not-usual", [])).toBeNull();
  expect(ownGroupOf("not-usual", [{ id: "msg_1" }, { id: null }])).toStartWith("item_");
});

test("an id that may have been made here is recognized, also if it was cut", () => {
  expect(mayBeMinted({ id: `${newGroup()}000001` })).toBe(true);
  expect(mayBeMinted({ id: cutText })).toBe(true);
  for (const other of [{ id: "msg_1" }, { id: 1 }, {}, "item_1", null])
    expect(mayBeMinted(other)).toBe(false);
});
