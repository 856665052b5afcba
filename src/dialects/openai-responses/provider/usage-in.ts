import { tableOf } from "../../../base/collections/table.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { HostedToolName } from "../../../base/usage/hosted-tools.ts";
import type { ReportedExtras, ReportedUsage } from "../../../base/usage/usage.ts";
import { objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { CallCounter, dayWritesOf, mediaOf, reportedTogether, tiersIn } from "../../usage/extra-usage.ts";
import { detailsOf, inclusiveUsage, type UsageReader } from "../../usage/reported-usage.ts";

/**
 * `usage` of a response: the fields that are read here, none of which is guaranteed. A stream has it in its last event.
 * https://platform.openai.com/docs/api-reference/responses/object#responses/object-usage
 */
interface ResponsesUsage {
  /** All input, cached tokens included. */
  readonly input_tokens?: Json | undefined;
  /** Parts of the input: `InputTokensDetails`. */
  readonly input_tokens_details?: Json | undefined;
  /** All output, reasoning included. */
  readonly output_tokens?: Json | undefined;
  /** Parts of the output: `OutputTokensDetails`. */
  readonly output_tokens_details?: Json | undefined;
}

interface InputTokensDetails {
  /** Read from the cache. */
  readonly cached_tokens?: Json | undefined;
  /** Written to the cache, where that is billed. */
  readonly cache_write_tokens?: Json | undefined;
  /** Sound, which has a price of its own. */
  readonly audio_tokens?: Json | undefined;
}

interface OutputTokensDetails {
  /** Reasoning, which is billed as output. */
  readonly reasoning_tokens?: Json | undefined;
  /** Sound, which has a price of its own. */
  readonly audio_tokens?: Json | undefined;
}

export function readUsage(reported: Json | undefined): ReportedUsage | null {
  if (!isObject(reported)) return null;
  const usage: ResponsesUsage = reported;
  const inputDetails: InputTokensDetails = detailsOf(usage.input_tokens_details);
  const outputDetails: OutputTokensDetails = detailsOf(usage.output_tokens_details);
  return inclusiveUsage(
    usage.input_tokens,
    usage.output_tokens,
    inputDetails.cached_tokens,
    inputDetails.cache_write_tokens,
    outputDetails.reasoning_tokens,
  );
}

export function readExtras(response: JsonObject): ReportedExtras {
  const reported = objectOf(response["usage"]);
  const usage: ResponsesUsage = reported ?? {};
  const calls = new CallCounter();
  for (const item of objectsOf(response["output"])) countItem(item, calls);
  return reportedTogether(
    tiersIn(response, reported),
    calls.report(),
    mediaOf(usage.input_tokens_details, usage.output_tokens_details),
    dayWritesOf(response, usage.input_tokens_details),
  );
}

export const usageReader: UsageReader = { usageIn: ({ usage }) => readUsage(usage), readExtras };

/** Counts an output item if it is a call of a hosted tool. */
export function countItem(item: JsonObject, calls: CallCounter): void {
  const type = stringOf(item["type"]);
  const name = type === null ? undefined : toolOfItem[type];
  if (name !== undefined && !isReadingOn(item)) calls.add(name);
}

const toolOfItem = tableOf<HostedToolName>({
  web_search_call: "web_search",
  file_search_call: "file_search",
  code_interpreter_call: "code_interpreter",
  computer_call: "computer_use",
  image_generation_call: "image_generation",
  mcp_call: "mcp",
  shell_call: "shell",
  tool_search_call: "tool_search",
});

/** OpenAI bills a search, but not opening a page that it found. */
function isReadingOn(item: JsonObject): boolean {
  const action = objectOf(item["action"])?.["type"];
  return item["type"] === "web_search_call" && (action === "open_page" || action === "find_in_page");
}
