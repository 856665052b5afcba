import { GatewayError } from "../../base/errors.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { LocalCounts } from "../charge/bill.ts";

/** Tokenizers differ by this much; what is closer to the window is left to the provider. */
const clearlyOver = 1.1;

/**
 * Refuses input that cannot fit. The cheap estimate is an upper bound: if it fits, there is nothing to await; if not,
 * the input is counted.
 */
export function refuseOverlongInput(
  model: ModelSettings,
  estimatedInput: number,
  bytes: Uint8Array,
  tokens: Pick<LocalCounts, "request">,
): Promise<void> | undefined {
  const window = model.contextWindow;
  if (window === null || estimatedInput <= window) return undefined;
  return refuseBeyond(window, estimatedInput, bytes, tokens);
}

/** If the tokenizer's thread is too busy to count, its estimate may exceed the upper bound. */
async function refuseBeyond(
  window: number,
  estimatedInput: number,
  bytes: Uint8Array,
  tokens: Pick<LocalCounts, "request">,
): Promise<void> {
  const counted = Math.min(await tokens.request(bytes), estimatedInput);
  if (counted <= window * clearlyOver) return;
  throw new GatewayError(
    "context_length_exceeded",
    `prompt is too long: ${counted} tokens > ${window} maximum`,
  );
}
