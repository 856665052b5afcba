import { describe, expect, test } from "bun:test";
import { openAiEmbeddings } from "../../../src/dialects/metered/embeddings/openai.ts";

const answer = (vectors: readonly unknown[]) =>
  Buffer.from(
    JSON.stringify({
      object: "list",
      data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
      usage: { prompt_tokens: 3, total_tokens: 3 },
    }),
  );

/** All ways to cut an answer at two places, one of them every other few bytes. */
function* cuts(bytes: Buffer): Iterable<Buffer[]> {
  for (let first = 0; first <= bytes.length; first += 1) {
    for (let second = first; second <= bytes.length; second += 7) {
      yield [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
    }
  }
}

function pass(pieces: readonly Buffer[], form: string) {
  const passed = { pieces, bytes: Buffer.concat(pieces), inputs: 3, countedInput: null, contentType: null };
  const asked = { model: "m", body: { encoding_format: form }, files: [], priced: [] };
  return openAiEmbeddings.pass?.(passed, { ...asked, held: { input: 3, output: 0 } });
}

describe.each([
  ["float", [0.5, -1e-9], [0.5]],
  ["base64", "AAAAPwAAgD8=", "AAAAPw=="],
])("vectors of the form %s", (form, vector, shorter) => {
  test("pass wherever their answer is cut", () => {
    for (const pieces of cuts(answer([vector, vector, vector]))) {
      expect(pass(pieces, form)?.usage?.inputTokens).toBe(3);
    }
  });

  test("do not pass if one is missing or of another length, wherever their answer is cut", () => {
    for (const vectors of [
      [vector, shorter, vector],
      [vector, vector, shorter],
      [vector, null, vector],
      [vector, vector],
    ]) {
      for (const pieces of cuts(answer(vectors))) expect(pass(pieces, form)).toBeNull();
    }
  });
});
