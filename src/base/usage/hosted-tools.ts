/** Tools that a provider runs itself and bills by the call, under the names that their prices have. */
export const hostedToolNames = [
  "web_search",
  "web_fetch",
  "file_search",
  "code_interpreter",
  "code_execution",
  "computer_use",
  "image_generation",
  "mcp",
  "shell",
  "tool_search",
] as const;

export type HostedToolName = (typeof hostedToolNames)[number];

/** Vendors bill these by their tokens alone, so they need no price. */
export const toolsWithoutFee: ReadonlySet<HostedToolName | null> = new Set<HostedToolName>(["mcp"]);

/** The prices of calls: one for each tool, and one for all searches of a prompt, which some models bill once. */
export const callPriceNames = [...hostedToolNames, "web_search_prompts"] as const;

export type CallPriceName = (typeof callPriceNames)[number];

/** Maps every price of calls to one value. */
export function forEachCallPrice<Value>(value: Value): Readonly<Record<CallPriceName, Value>> {
  // The cast holds because the entries have exactly these names.
  return Object.fromEntries(callPriceNames.map((name) => [name, value])) as Record<CallPriceName, Value>;
}

/** Number of calls of each tool. */
export type ToolCalls = { readonly [Name in HostedToolName]?: number };
