import { expect, test } from "bun:test";
import { flattenContent, markError } from "../../../src/dialects/target/flatten-content.ts";

test("a document given as text keeps its title, its context and its cache mark", () => {
  const cache = { type: "ephemeral" };
  const said = flattenContent({
    type: "document",
    source: { kind: "text", text: "body" },
    title: "T",
    context: "C",
    cache,
  });
  expect(said).toEqual([{ type: "text", text: "Title: T\nContext: C\n\nbody", cache }]);
});

test("a document made of parts becomes its parts, images included", () => {
  const image = {
    type: "image" as const,
    source: { kind: "url" as const, url: "https://example.com/a.png" },
  };
  const source = { kind: "parts" as const, parts: [{ type: "text" as const, text: "a" }, image] };
  expect(flattenContent({ type: "document", source })).toEqual([{ type: "text", text: "a" }, image]);
});

test("a search result keeps its title and where it was found", () => {
  const content = [
    { type: "text" as const, text: "one" },
    { type: "text" as const, text: "two" },
  ];
  expect(flattenContent({ type: "search_result", title: "T", source: "https://s", content })).toEqual([
    { type: "text", text: "T\nhttps://s\n\none\n\ntwo" },
  ]);
});

test("a failed tool's text says so once, and an answer without text gets a text that says so", () => {
  const failed = [{ type: "text" as const, text: "Error: no" }];
  expect(markError([{ type: "text", text: "no" }])).toEqual(failed);
  expect(markError(failed)).toEqual(failed);
  expect(markError([])).toEqual([{ type: "text", text: "Error:" }]);
});
