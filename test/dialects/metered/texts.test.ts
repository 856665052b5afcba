import { expect, test } from "bun:test";
import { countCharacters } from "../../../src/dialects/metered/texts.ts";

const request = { bytes: new Uint8Array(), truncated: {}, body: {} };

test("characters are code points, and halves of them count as one", () => {
  for (const text of ["", "né", "😀", "😀😀a", "\ude00\ud83d", "\ud83d\ud83d\ude00", "a\ud83d"]) {
    expect(countCharacters(request, () => [text, text])).toBe([...text].length * 2);
  }
});
