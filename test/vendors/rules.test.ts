import { expect, test } from "bun:test";
import { readSources } from "../architecture/imports.ts";
import { readGoldens } from "../dialects/golden-file.ts";
import { ruleIds } from "./rules.ts";

/** A test's title, or the name of a case in a table or in a golden file, that begins with ids and a colon, or ends with ids in parentheses. */
const titles = /["'`]((?:[A-Z]\d\d, )*[A-Z]\d\d): |\(((?:[A-Z]\d\d, )*[A-Z]\d\d)\)["'`]/g;

test("every rule about providers has a test that names it", () => {
  const sources = readSources("test").map(({ text }) => text);
  const goldens = readGoldens().map(({ title }) => JSON.stringify(title));
  const named = new Set(
    [...sources, ...goldens].flatMap((text) =>
      [...text.matchAll(titles)].flatMap(([, first, last]) => (first ?? last ?? "").split(", ")),
    ),
  );
  expect(ruleIds.filter((id) => !named.has(id))).toEqual([]);
});
