import { expect, test } from "bun:test";
import {
  base64Forms,
  knownSecrets,
  rememberSecret,
  withoutSecrets,
} from "../../../src/base/secrets/secrets.ts";
import { Redactor } from "../../../src/content/redactor.ts";

/** Of all lengths modulo three, with bytes that both alphabets write differently. */
const secrets = ["canary", "canary-1", "canary-é~?~", "sk-canary-0123456789-~~~???>>>"];
const neighbors = ["", "u", "us", "user:", "a longer name:", "ÿÿ"];

test("a secret is found in base64, whatever is in front of it and behind it", () => {
  for (const secret of secrets) {
    const forms = base64Forms(secret);
    for (const before of neighbors)
      for (const after of neighbors) {
        const encoded = Buffer.from(before + secret + after).toString("base64");
        expect(forms.filter((form) => encoded.includes(form))).not.toEqual([]);
        const urlSafe = Buffer.from(before + secret + after).toString("base64url");
        expect(forms.filter((form) => urlSafe.includes(form))).not.toEqual([]);
      }
  }
});

test("what a form leaves out tells less than a byte at either end", () => {
  for (const secret of secrets)
    for (const form of base64Forms(secret))
      expect(Buffer.byteLength(secret) * 8 - form.length * 6).toBeLessThanOrEqual(8);
});

test("a configured secret is masked in base64, too, in quoted messages and in recorded content", () => {
  const secret = "canary-of-base64-forms";
  rememberSecret(secret);
  const { clean } = new Redactor(knownSecrets().all());
  for (const user of ["", "a", "ab", "abc"]) {
    const text = `Basic ${btoa(`${user}:${secret}`)} is unknown`;
    for (const masked of [withoutSecrets(text), clean(text)]) {
      expect(masked).toMatch(/^Basic \S{0,8}\[secret\]\S{0,3} is unknown$/);
    }
  }
  const image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk";
  expect(clean(image)).toBe(image);
});
