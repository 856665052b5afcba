import { GatewayError } from "../../base/errors.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { TokenCounter } from "../charge/bill.ts";

/** Tokenizers differ by so much; what is less far over the window is left for the provider to judge. */
const clearlyOver = 1.1;

/**
 * Refuses input that cannot fit. The cheap estimate is an upper bound, so it can only acquit, and then there is
 * nothing to await; when it does not, the input is counted.
 */
export function refuseOverlongInput(
  model: ModelSettings,
  estimatedInput: number,
  bytes: Uint8Array,
  tokens: TokenCounter,
): Promise<void> | undefined {
  const window = model.contextWindow;
  if (window === null || estimatedInput <= window) return undefined;
  return refuseBeyond(window, estimatedInput, bytes, tokens);
}

/** The tokenizer has a thread of its own. Where that is too busy to count, its guess may be above the bound. */
async function refuseBeyond(
  window: number,
  estimatedInput: number,
  bytes: Uint8Array,
  tokens: TokenCounter,
): Promise<void> {
  const counted = Math.min(await tokens.request(bytes), estimatedInput);
  if (counted <= window * clearlyOver) return;
  throw new GatewayError(
    "context_length_exceeded",
    `prompt is too long: ${counted} tokens > ${window} maximum`,
  );
}
