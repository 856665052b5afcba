import { expect, test } from "bun:test";
import { ThinkTagSplitter } from "../../../../src/dialects/openai-chat/provider/think-tags.ts";

const cases: readonly [string, string, string][] = [
  ["<think>Hmm.</think>\n\nYes.", "Hmm.", "Yes."],
  ["\n<think>\nHmm <b>.\n</think>Yes </think>.", "\nHmm <b>.\n", "Yes </think>."],
  ["Yes. <think>no</think>", "", "Yes. <think>no</think>"],
  ["<thin air>", "", "<thin air>"],
  ["<think>cut off </thi", "cut off </thi", ""],
  ["<thi", "", "<thi"],
  ["  indented", "", "  indented"],
  ["", "", ""],
];

test("reasoning between tags at the beginning of the content is reasoning, however it is cut (C43)", () => {
  for (const [content, reasoning, text] of cases) {
    for (const pieces of [[content], [...content]]) {
      const splitter = new ThinkTagSplitter();
      const split = pieces.map((piece) => splitter.push(piece));
      split.push(splitter.end());
      expect(split.map((piece) => piece.reasoning).join("")).toBe(reasoning);
      expect(split.map((piece) => piece.text).join("")).toBe(text);
    }
  }
});
