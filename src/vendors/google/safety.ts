import type { JsonObject } from "../../base/json.ts";
import type { ProviderOptions } from "../options.ts";

/** The categories that can be set; the API rejects others. */
const categories = ["HATE_SPEECH", "DANGEROUS_CONTENT", "HARASSMENT", "SEXUALLY_EXPLICIT"] as const;

const thresholds = {
  off: "OFF",
  none: "BLOCK_NONE",
  high: "BLOCK_ONLY_HIGH",
  medium: "BLOCK_MEDIUM_AND_ABOVE",
  low: "BLOCK_LOW_AND_ABOVE",
} as const;

/** The threshold for blocking prompts and responses; Google's default if nothing is configured. */
export function safetyFields({ safety }: ProviderOptions): JsonObject {
  if (safety === undefined) return {};
  const threshold = thresholds[safety];
  const safetySettings = categories.map((category) => ({ category: `HARM_CATEGORY_${category}`, threshold }));
  return { safetySettings };
}
