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

function pass(bytes: Buffer, form: string) {
  const passed = { bytes, inputs: 3, countedInput: null, contentType: null };
  const asked = { model: "m", body: { encoding_format: form }, files: [], priced: [] };
  return openAiEmbeddings.pass?.(passed, { ...asked, held: { input: 3, output: 0 } });
}

describe.each([
  ["float", [0.5, -1e-9], [0.5]],
  ["base64", "AAAAPwAAgD8=", "AAAAPw=="],
])("vectors of the form %s", (form, vector, shorter) => {
  test("pass", () => {
    expect(pass(answer([vector, vector, vector]), form)?.usage?.inputTokens).toBe(3);
  });

  test("do not pass if one is missing or of another length", () => {
    for (const vectors of [
      [vector, shorter, vector],
      [vector, vector, shorter],
      [vector, null, vector],
      [vector, vector],
    ]) {
      expect(pass(answer(vectors), form)).toBeNull();
    }
  });
});
