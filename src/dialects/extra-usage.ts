import type { DialectName } from "../base/dialect.ts";
import type { ReportedExtras } from "../base/extra-usage.ts";
import { type HostedToolName, hostedToolNames, type ToolCalls } from "../base/hosted-tools.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { objectOf, objectsOf, stringOf } from "./json/json-fields.ts";

/** No call comes near this; a provider that reports more has reported nonsense. */
const maxCount = 1_000_000;

/** What a whole answer says of its tier, its hosted tools and its audio; a chunk with usage is one for chat. */
export function readExtras(dialect: DialectName, answer: JsonObject): ReportedExtras {
  switch (dialect) {
    case "chat":
      return readChat(answer);
    case "responses":
      return readResponses(answer);
    case "messages":
      return readMessagesExtras(objectOf(answer["usage"]) ?? {}, callsOfBlocks(objectsOf(answer["content"])));
  }
}

function readChat(answer: JsonObject): ReportedExtras {
  const usage = objectOf(answer["usage"]);
  const searches = countOf(usage?.["num_sources_used"]) || countOf(usage?.["num_search_queries"]);
  return {
    ...tierOf(answer["service_tier"]),
    ...(searches === 0 ? {} : { calls: { web_search: searches } }),
    ...audioOf(usage?.["prompt_tokens_details"], usage?.["completion_tokens_details"]),
  };
}

function readResponses(response: JsonObject): ReportedExtras {
  const usage = objectOf(response["usage"]);
  const calls = new CallCounter();
  for (const item of objectsOf(response["output"])) calls.addItem(item);
  return {
    ...tierOf(response["service_tier"]),
    ...calls.report(),
    ...audioOf(usage?.["input_tokens_details"], usage?.["output_tokens_details"]),
  };
}

/** Some tools are counted in the usage, some only show as blocks, some are both: the larger figure counts. */
export function readMessagesExtras(usage: JsonObject, counted: CallCounter): ReportedExtras {
  const figures = objectOf(usage["server_tool_use"]);
  if (figures !== null) {
    for (const name of hostedToolNames) counted.atLeast(name, countOf(figures[`${name}_requests`]));
  }
  return { ...tierOf(usage["service_tier"]), ...counted.report() };
}

function tierOf(tier: Json | undefined): ReportedExtras {
  return typeof tier === "string" ? { tier } : {};
}

function audioOf(input: Json | undefined, output: Json | undefined): ReportedExtras {
  const audioInputTokens = countOf(objectOf(input)?.["audio_tokens"]);
  const audioOutputTokens = countOf(objectOf(output)?.["audio_tokens"]);
  return audioInputTokens + audioOutputTokens === 0 ? {} : { audioInputTokens, audioOutputTokens };
}

function countOf(value: Json | undefined): number {
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  return isCount ? Math.min(value, maxCount) : 0;
}

function callsOfBlocks(blocks: readonly JsonObject[]): CallCounter {
  const calls = new CallCounter();
  for (const block of blocks) calls.addBlock(block);
  return calls;
}

/** Counts the calls of hosted tools that an answer shows. */
export class CallCounter {
  #calls: { [Name in HostedToolName]?: number } | null = null;

  get isEmpty(): boolean {
    return this.#calls === null;
  }

  report(): { readonly calls?: ToolCalls } {
    return this.#calls === null ? {} : { calls: this.#calls };
  }

  atLeast(name: HostedToolName, count: number): void {
    if (count > (this.#calls?.[name] ?? 0)) this.#calls = { ...this.#calls, [name]: count };
  }

  /** An item of a response's output. */
  addItem(item: JsonObject): void {
    const type = stringOf(item["type"]);
    const name = type === null ? undefined : toolOfItem[type];
    if (name !== undefined && !isReadingOn(item)) this.#add(name);
  }

  /** A block of a message's content. */
  addBlock(block: JsonObject): void {
    if (block["type"] === "mcp_tool_use") this.#add("mcp");
    if (block["type"] !== "server_tool_use") return;
    const tool = stringOf(block["name"]) ?? "";
    const name = toolsOfBlocks.find(([family]) => family.test(tool))?.[1];
    if (name !== undefined) this.#add(name);
  }

  #add(name: HostedToolName): void {
    this.atLeast(name, (this.#calls?.[name] ?? 0) + 1);
  }
}

const toolOfItem: Readonly<Record<string, HostedToolName | undefined>> = {
  web_search_call: "web_search",
  file_search_call: "file_search",
  code_interpreter_call: "code_interpreter",
  computer_call: "computer_use",
  image_generation_call: "image_generation",
  mcp_call: "mcp",
  shell_call: "shell",
  tool_search_call: "tool_search",
};

const toolsOfBlocks: readonly (readonly [RegExp, HostedToolName])[] = [
  [/^web_search$/, "web_search"],
  [/^web_fetch$/, "web_fetch"],
  [/code_execution$/, "code_execution"],
  [/^tool_search/, "tool_search"],
];

/** OpenAI bills a search, and not the opening of a page that it found. */
function isReadingOn(item: JsonObject): boolean {
  const action = objectOf(item["action"])?.["type"];
  return item["type"] === "web_search_call" && (action === "open_page" || action === "find_in_page");
}
