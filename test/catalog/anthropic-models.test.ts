import { describe, expect, test } from "bun:test";
import { anthropicPage } from "../../src/catalog/anthropic-models.ts";
import { Catalog } from "../../src/catalog/catalog.ts";
import { model } from "./fixtures.ts";

const models = ["a", "b", "c", "d", "e"].map((id) => model(id));
const list = Catalog.from({ models }).list(models);

function page(query: string) {
  const { data, ...rest } = anthropicPage(list, new URLSearchParams(query));
  return { ids: data.map(({ id }) => id).join(""), ...rest };
}

describe("pages of the model list, as Anthropic's clients ask for them", () => {
  test.each([
    ["", "abcde", false],
    ["limit=5", "abcde", false],
    ["limit=2", "ab", true],
    ["limit=2&after_id=b", "cd", true],
    ["limit=2&after_id=d", "e", false],
    ["limit=2&after_id=", "ab", true],
    ["after_id=e", "", false],
    ["limit=2&before_id=d", "bc", true],
    ["limit=2&before_id=c", "ab", false],
    ["before_id=a", "", false],
  ])("%s: %s", (query, ids, hasMore) => {
    expect(page(query)).toEqual({
      ids,
      has_more: hasMore,
      first_id: ids.at(0) ?? null,
      last_id: ids.at(-1) ?? null,
    });
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=1.5", "limit"],
    ["limit=", "limit"],
    ["after_id=z", "after_id"],
    ["before_id=z", "before_id"],
    ["after_id=a&before_id=e", "after_id"],
  ])("%s is refused", (query, param) => {
    expect(() => page(query)).toThrow(expect.objectContaining({ code: "invalid_request", param }));
  });

  test("`capabilities` is null there, and ours are beside it", () => {
    const able = model("able", { capabilities: { tools: true }, contextWindow: 9, maxOutputTokens: 3 });
    const [shown] = anthropicPage(Catalog.from({ models: [able] }).list([able]), new URLSearchParams()).data;
    expect(shown).toMatchObject({
      capabilities: null,
      sluice_capabilities: { tools: true },
      max_input_tokens: 9,
      max_tokens: 3,
      context_window: 9,
      lifecycle: "active",
    });
  });
});
