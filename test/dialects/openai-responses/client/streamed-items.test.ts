import { expect, test } from "bun:test";
import { StreamedItems } from "../../../../src/dialects/openai-responses/client/streamed-items.ts";

const megabyte = 1024 * 1024;

function event(chars: number): string {
  const item = { type: "message", content: "x".repeat(chars) };
  return JSON.stringify({ type: "response.output_item.done", output_index: 0, item });
}

test("items that are too large together are not kept in memory", () => {
  const [items, large] = [new StreamedItems(), event(megabyte)];
  for (let count = 0; count < 7; count += 1) items.add(large);
  expect(items.all()).toHaveLength(7);
  expect(items.events?.every((data) => data.length > megabyte)).toBe(true);
  for (let count = 0; count < 2; count += 1) items.add(large);
  expect(items.all()).toBeNull();
  expect(items.events).toBeNull();
});
