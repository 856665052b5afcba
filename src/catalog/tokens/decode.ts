import { decode } from "gpt-tokenizer/encoding/cl100k_base";

/**
 * The texts of tokens in cl100k_base, the encoding that OpenAI's clients take for models whose name they do not know. Null if one of
 * the ids is not in it.
 */
export function decodeTexts(ids: readonly (readonly number[])[]): readonly string[] | null {
  try {
    return ids.map((tokens) => decode(tokens));
  } catch {
    return null;
  }
}
