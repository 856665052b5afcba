import type { Sluice, TestKey } from "./sluice.ts";
import { waitFor } from "./wait.ts";

/** What the tokenizer says of the question below; without it, it is taken for six. */
const tokens = 5;

/**
 * Waits until a gateway counts by its tokenizer. On a busy machine that may take longer to load than a request waits for it, and until
 * then counts are rough. The model's provider must have no counter of its own.
 */
export function tokenizerLoaded(sluice: Sluice, key: TestKey, model: string): Promise<void> {
  const body = { model, messages: [{ role: "user", content: "Hello" }] };
  return waitFor(async () => {
    const response = await sluice.request("/v1/messages/count_tokens", { key, body });
    return ((await response.json()) as { input_tokens?: number }).input_tokens === tokens;
  }, "the tokenizer to be loaded");
}
