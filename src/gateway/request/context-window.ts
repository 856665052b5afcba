import { GatewayError } from "../../base/errors.ts";
import type { KeyCounts } from "../../catalog/tokens/counter.ts";
import type { ModelSettings } from "../../config/settings.ts";

/** Tokenizers differ by this much; what is closer to the window is left to the provider. */
const clearlyOver = 1.1;

/** Rejects input that cannot fit. The cheap estimate is an upper bound: only if it does not fit, the input is counted. */
export function rejectOverlongInput(
  { contextWindow }: ModelSettings,
  estimatedInput: number,
  bytes: Uint8Array,
  tokens: Pick<KeyCounts, "request">,
): Promise<void> | undefined {
  const isShort = contextWindow === null || estimatedInput <= contextWindow;
  return isShort ? undefined : rejectCounted(contextWindow, estimatedInput, bytes, tokens);
}

async function rejectCounted(
  contextWindow: number,
  estimatedInput: number,
  bytes: Uint8Array,
  tokens: Pick<KeyCounts, "request">,
): Promise<void> {
  // If the tokenizer's thread is too busy to count, its estimate may exceed the upper bound.
  const counted = Math.min(await tokens.request(bytes), estimatedInput);
  if (counted <= contextWindow * clearlyOver) return;
  throw new GatewayError(
    "context_length_exceeded",
    `prompt is too long: ${counted} tokens > ${contextWindow} maximum`,
  );
}
