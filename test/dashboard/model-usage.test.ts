import { expect, test } from "bun:test";
import type { UsageRowView } from "../../src/admin/reports/schema.ts";
import { rowsByGroup } from "../../src/dashboard/page/model-usage.ts";

/** Only the group is looked at. */
const row = (group: string) => ({ group }) as UsageRowView;

test("models beyond the first page of a report have their figures, too", async () => {
  const asked: (string | null)[] = [];
  const pages = [
    { data: [row("a"), row("b")], next_cursor: "2" },
    { data: [row("c")], next_cursor: null },
  ];
  const rows = await rowsByGroup(async (cursor) => {
    asked.push(cursor);
    return pages[asked.length - 1] ?? { data: [], next_cursor: null };
  });
  expect([...rows.keys()]).toEqual(["a", "b", "c"]);
  expect(asked).toEqual([null, "2"]);
});

test("a report without an end is asked for five pages at most", async () => {
  let asked = 0;
  await rowsByGroup(async () => ({ data: [row(String(asked++))], next_cursor: "more" }));
  expect(asked).toBe(5);
});
