import { expect, test } from "bun:test";
import { sealText, unsealText } from "../../src/base/seal.ts";

const key = new Uint8Array(32).fill(7);
const content = Buffer.from("what was said before");

test("what was sealed opens with its own key, in its own place and way, and in no other", () => {
  const text = sealText(content, key, "mine", 1);
  expect(Buffer.from(unsealText(text, key, "mine", 1) ?? []).toString()).toBe(content.toString());
  expect(unsealText(text, new Uint8Array(32).fill(8), "mine", 1)).toBeNull();
  expect(unsealText(text, key, "another's", 1)).toBeNull();
  expect(unsealText(text, key, "mine", 2)).toBeNull();
});

test("a seal of which any character was changed, added or left out does not open", () => {
  // The last character has bits to spare for two of three lengths.
  for (const length of [18, 19, 20]) {
    const text = sealText(content.subarray(0, length), key, "mine", 1);
    for (let at = 0; at <= text.length; at += 1) {
      for (const other of ["", "A", "B", "=", " ", "%"]) {
        const changed = text.slice(0, at) + other + text.slice(at + 1);
        if (changed !== text) expect(unsealText(changed, key, "mine", 1)).toBeNull();
        if (other !== "")
          expect(unsealText(text.slice(0, at) + other + text.slice(at), key, "mine", 1)).toBeNull();
      }
    }
  }
});
