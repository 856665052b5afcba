import { expect, test } from "bun:test";
import { readSources } from "../architecture/imports.ts";
import { ruleIds } from "./rules.ts";

/** A string that begins with ids and a colon: a test's title, or the name of a case in a table of tests. */
const titles = /["'`]((?:[A-Z]\d\d, )*[A-Z]\d\d): /g;

test("every rule about providers has a test that names it", () => {
  const named = new Set(
    readSources("test").flatMap(({ text }) =>
      [...text.matchAll(titles)].flatMap(([, ids = ""]) => ids.split(", ")),
    ),
  );
  expect(ruleIds.filter((id) => !named.has(id))).toEqual([]);
});
