import { expect, test } from "bun:test";
import { sealText, unsealText } from "../../../src/base/secrets/seal.ts";

const seal = { key: new Uint8Array(32).fill(7), context: "mine", version: 1 };
const content = Buffer.from("what was said before");

test("what was sealed opens with its own key, in its own place and way, and in no other", () => {
  const text = sealText(content, seal);
  expect(Buffer.from(unsealText(text, seal) ?? []).toString()).toBe(content.toString());
  expect(unsealText(text, { ...seal, key: new Uint8Array(32).fill(8) })).toBeNull();
  expect(unsealText(text, { ...seal, context: "another's" })).toBeNull();
  expect(unsealText(text, { ...seal, version: 2 })).toBeNull();
});

test("a seal of which any character was changed, added or left out does not open", () => {
  // The last character has bits to spare for two of three lengths.
  for (const length of [18, 19, 20]) {
    const text = sealText(content.subarray(0, length), seal);
    for (let at = 0; at <= text.length; at += 1) {
      for (const other of ["", "A", "B", "=", " ", "%"]) {
        const changed = text.slice(0, at) + other + text.slice(at + 1);
        if (changed !== text) expect(unsealText(changed, seal)).toBeNull();
        if (other !== "") expect(unsealText(text.slice(0, at) + other + text.slice(at), seal)).toBeNull();
      }
    }
  }
});
