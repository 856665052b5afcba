import { expect, test } from "bun:test";
import { decryptText, encrypting, encryptText, PartDecryption } from "../../../src/base/secrets/encrypt.ts";

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

test("what is read in parts opens wherever it was cut, and its end shows whether it is whole", () => {
  const whole = Buffer.concat([...encrypting([content], seal)]);
  const opened = (bytes: Uint8Array, size: number, encryption = seal) => {
    const decryption = new PartDecryption(encryption);
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size)
      pieces.push(decryption.push(bytes.subarray(at, at + size)));
    return decryption.isWhole() ? Buffer.concat(pieces).toString() : null;
  };
  for (let size = 1; size <= whole.length; size += 1) {
    expect(opened(whole, size)).toBe(content.toString());
    expect(opened(whole.subarray(0, -1), size)).toBeNull();
    expect(opened(whole, size, { ...seal, context: "another's" })).toBeNull();
    expect(opened(whole, size, { ...seal, version: 2 })).toBeNull();
    expect(opened(whole, size, { ...seal, key: new Uint8Array(32).fill(8) })).toBeNull();
  }
  for (let at = 0; at < whole.length; at += 1) {
    const changed = Uint8Array.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(opened(changed, 5)).toBeNull();
  }
  expect(opened(new Uint8Array(), 1)).toBeNull();
});
