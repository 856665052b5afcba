import type { Json } from "../base/json.ts";
import { Redactor } from "./redactor.ts";
import { replaceData } from "./replace-data.ts";
import type { CleanedText } from "./thread-messages.ts";
import { truncateToBytes } from "./truncate-to-bytes.ts";

/** Other JSON as it would be recorded: without data and secrets, and not longer than the maximum. */
export function cleanJson({ json, maxBytes }: CleanedText, secrets: readonly string[]): string {
  return truncateToBytes(replaceData(JSON.parse(json) as Json, new Redactor(secrets).clean), maxBytes).json;
}
