import { expect, test } from "bun:test";
import { knownTool } from "../../../../src/dialects/anthropic-messages/client/known-tools.ts";

test("the tools that Anthropic defines and a client runs are described to other models", () => {
  const described = ["bash_20250124", "text_editor_20250728", "memory_20250818"].map((type) => {
    const tool = knownTool(type, null);
    return [tool?.name, tool?.description];
  });
  expect(described).toEqual([
    ["bash", "Runs a command in a persistent bash session and returns its output."],
    ["str_replace_based_edit_tool", "Views, creates and edits text files."],
    ["memory", "Keeps notes in files under /memories."],
  ]);
});

test("a tool that Anthropic runs itself is not one of them", () => {
  expect(knownTool("web_search_20250305", null)).toBeNull();
});
