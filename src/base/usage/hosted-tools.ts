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

/** Maps every hosted tool to one value. */
export function forEachTool<Value>(value: Value): Readonly<Record<HostedToolName, Value>> {
  // The cast holds because the entries have exactly these names.
  return Object.fromEntries(hostedToolNames.map((name) => [name, value])) as Record<HostedToolName, Value>;
}

/** Number of calls of each tool. */
export type ToolCalls = { readonly [Name in HostedToolName]?: number };
