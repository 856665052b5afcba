import { describe, expect, test } from "bun:test";
import { mintSecret, type RandomSource } from "../../../src/base/secrets/mint-secret.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Gives these bytes in order, then zeros, and counts how often it is asked. */
class ScriptedSource {
  calls = 0;
  readonly #rest: number[];

  constructor(...bytes: number[]) {
    this.#rest = bytes;
  }

  readonly fill: RandomSource = (bytes) => {
    this.calls += 1;
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = this.#rest.shift() ?? 0;
  };
}

describe("a secret", () => {
  test("gets every character from as many byte values, and none from the bytes that are left over", () => {
    const counts = new Map<string, number>();
    for (let byte = 0; byte < 248; byte += 1) {
      const character = mintSecret(1, new ScriptedSource(byte).fill);
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect([...counts.keys()].toSorted()).toEqual([...alphabet].toSorted());
    expect(new Set(counts.values())).toEqual(new Set([4]));
  });

  test("asks for more bytes when some were rejected, and has its whole length", () => {
    const source = new ScriptedSource(248, 255, 250, 61, 252, 253, 254, 251, 1, 2, 3, 4);
    expect(mintSecret(4, source.fill)).toBe("z123");
    expect(source.calls).toBe(3);
  });

  test("has uniform characters at every position, and no two are alike", () => {
    const [count, length] = [20_000, 30];
    const secrets = Array.from({ length: count }, () => mintSecret(length));
    expect(new Set(secrets).size).toBe(count);
    for (let position = 0; position < length; position += 1) {
      const counts = new Map([...alphabet].map((character) => [character, 0]));
      for (const secret of secrets) {
        const character = secret.charAt(position);
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
      const expected = count / alphabet.length;
      const chiSquare = counts.values().reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
      expect(counts.size).toBe(alphabet.length);
      // With 61 degrees of freedom, above 145 once in a hundred million.
      expect(chiSquare).toBeLessThan(145);
    }
  });
});
