import type { Json, JsonObject } from "../../base/json.ts";
import type { IrHostedTool, IrRequest } from "../ir/ir.ts";
import type { IrWebSearch } from "../ir/web-search.ts";
import { objectOf, stringsOf } from "../json/json-fields.ts";
import { isGoogleSearch, pricedName } from "./tool-families.ts";

/** The name of Anthropic's tool, and the type of OpenAI's. */
export const searchName = "web_search";

/** A hosted tool as Messages and Responses write it: a search has its domains and location at the top, or in `filters`. */
export function readHosted(
  tool: JsonObject,
  { name, path }: Pick<IrHostedTool, "name" | "path">,
): IrHostedTool {
  const hosted = { type: "hosted", name, path, shownAs: `tools.${name}` } as const;
  if (!isSearch(name)) return hosted;
  return { ...hosted, search: readSearch(tool, tool["user_location"], "tools[].") };
}

/** The fields that a search is translated from. The hold limits the calls, and follows `max_uses`. */
const carried: ReadonlySet<string> = new Set([
  ...["type", "name", "max_uses", "cache_control", "allowed_domains", "blocked_domains", "filters"],
  "user_location",
]);

/** `prefix` is the path of its members in the client's body, for error messages. */
export function readSearch(options: JsonObject, location: Json | undefined, prefix: string): IrWebSearch {
  const filters = objectOf(options["filters"]) ?? options;
  const isSet = (name: string) => !carried.has(name) && (options[name] ?? null) !== null;
  return {
    allowedDomains: stringsOf(filters["allowed_domains"]),
    blockedDomains: stringsOf(filters["blocked_domains"]),
    location: objectOf(location),
    others: Object.keys(options)
      .filter(isSet)
      .map((name) => `${prefix}${name}`),
  };
}

/** Google's search has other settings and sources, so it is not translated. */
export function isSearch(type: string): boolean {
  return pricedName(type) === searchName && !isGoogleSearch(type);
}

/** The search of an adapted request; a provider has one at most. */
export function searchOf({ tools }: Pick<IrRequest, "tools">): IrWebSearch | null {
  for (const tool of tools) if (tool.type === "hosted" && tool.search !== undefined) return tool.search;
  return null;
}
