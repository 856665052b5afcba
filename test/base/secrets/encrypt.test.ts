import { expect, test } from "bun:test";
import { decryptText, encryptText } from "../../../src/base/secrets/encrypt.ts";

const seal = { key: new Uint8Array(32).fill(7), context: "mine", version: 1 };
const content = Buffer.from("what was said before");

test("what was sealed opens with its own key, in its own place and way, and in no other", () => {
  const text = encryptText(content, seal);
  expect(Buffer.from(decryptText(text, seal) ?? []).toString()).toBe(content.toString());
  expect(decryptText(text, { ...seal, key: new Uint8Array(32).fill(8) })).toBeNull();
  expect(decryptText(text, { ...seal, context: "another's" })).toBeNull();
  expect(decryptText(text, { ...seal, version: 2 })).toBeNull();
});

test("a seal of which any character was changed, added or left out does not open", () => {
  // The last character has bits to spare for two of three lengths.
  for (const length of [18, 19, 20]) {
    const text = encryptText(content.subarray(0, length), seal);
    for (let at = 0; at <= text.length; at += 1) {
      for (const other of ["", "A", "B", "=", " ", "%"]) {
        const changed = text.slice(0, at) + other + text.slice(at + 1);
        if (changed !== text) expect(decryptText(changed, seal)).toBeNull();
        if (other !== "") expect(decryptText(text.slice(0, at) + other + text.slice(at), seal)).toBeNull();
      }
    }
  }
});
