import type { HostedToolName } from "../../base/usage/hosted-tools.ts";

const googleSearch = /^google_?search(?:_?retrieval)?$/i;

/** Vendors add dates and suffixes to the names: `web_search_20250305`, `web_search_preview`. */
const families: readonly (readonly [RegExp, HostedToolName])[] = [
  [/^web_search(_|$)/, "web_search"],
  [googleSearch, "web_search"],
  [/^web_fetch(_|$)/, "web_fetch"],
  [/^file_search$/, "file_search"],
  [/^code_interpreter$/, "code_interpreter"],
  [/^code_execution(_|$)/, "code_execution"],
  [/^computer(_|$)/, "computer_use"],
  [/^image_generation$/, "image_generation"],
  [/^mcp(_toolset)?$/, "mcp"],
  [/^shell$/, "shell"],
  [/^tool_search(_|$)/, "tool_search"],
];

export function isGoogleSearch(type: string): boolean {
  return googleSearch.test(type);
}

/** The name under which a type has its price; null if there is none for it. */
export function pricedName(type: string): HostedToolName | null {
  return families.find(([family]) => family.test(type))?.[1] ?? null;
}
