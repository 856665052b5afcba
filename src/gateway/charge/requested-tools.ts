import { invalidRequest } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { listOf, objectOf, stringOf } from "../../dialects/json/json-fields.ts";
import type { ValuePath } from "../../dialects/json/remove-values.ts";
import { pathOf } from "../../dialects/names/name-path.ts";
import { type HostedTool, type OfferedTools, pricedName } from "../../dialects/tools/hosted-tools.ts";
import type { DestinationPrices } from "./destination-prices.ts";
import type { HeldCalls } from "./held-calls.ts";

/** Tools that are dropped from a request because they have no price. */
export interface UnpricedTools {
  readonly paths: readonly ValuePath[];
  /** Their names in `x-sluice-dropped`. */
  readonly names: readonly string[];
  /** The number of tools. */
  readonly count: number;
}

export const noUnpricedTools: UnpricedTools = { paths: [], names: [], count: 0 };

/**
 * Holds for the calls of tools that the provider runs. A tool without a price that is only offered is dropped: agents offer searches
 * by default, and work without them. Throws if the model has to call it.
 */
export function holdTools(
  { hosted, clientCount }: OfferedTools,
  body: JsonObject,
  prices: DestinationPrices,
  held: HeldCalls,
): UnpricedTools {
  if (prices.speakers.length === 0) return noUnpricedTools;
  const unpriced: HostedTool[] = [];
  for (const tool of hosted) {
    const { type, name, maxUses, runs } = tool;
    if (runs === null && !prices.coverCalls(name) && !prices.allows(nameOf(type))) unpriced.push(tool);
    else held.add(name, maxUses);
  }
  if (unpriced.length === 0) return noUnpricedTools;
  const left = clientCount + hosted.length - unpriced.length;
  return {
    paths: [
      ...choicePaths(unpriced, left, body, prices),
      ...withEmptied(
        unpriced.map(({ path }) => path),
        body,
      ),
    ],
    names: [...new Set(unpriced.map(({ type }) => nameOf(type)))],
    count: unpriced.length,
  };
}

function nameOf(type: string): string {
  return `tools.${type}`;
}

/** Providers reject an empty list of tools, so the namespace or the list that would be empty is removed with them. */
function withEmptied(paths: readonly ValuePath[], body: JsonObject): readonly ValuePath[] {
  const lists = Map.groupBy(paths, (path) => pathOf(path.slice(0, -1)));
  const emptied = [...lists.values()].find(([first = [], ...others]) => {
    const list = first.slice(0, -1);
    return list.at(-1) === "tools" && listOf(valueAt(body, list)).length === others.length + 1;
  });
  if (emptied === undefined) return paths;
  const list = emptied[0]?.slice(0, -1) ?? [];
  const owner = list.length === 1 ? list : list.slice(0, -1);
  return withEmptied([...paths.filter((path) => !emptied.includes(path)), owner], body);
}

function valueAt(body: JsonObject, path: ValuePath): Json | undefined {
  let value: Json | undefined = body;
  for (const step of path) {
    if (typeof step === "number") value = listOf(value)[step];
    else value = objectOf(value)?.[step];
  }
  return value;
}

/** Paths to remove from `tool_choice`. Throws if only dropped tools would remain to choose from. */
function choicePaths(
  unpriced: readonly HostedTool[],
  left: number,
  { tool_choice: choice }: JsonObject,
  prices: DestinationPrices,
): ValuePath[] {
  for (const tool of unpriced) {
    if (tool.isInMessage) throw rejection(pathOf([...tool.path, "type"]), "offers", tool, prices);
    if (isChosen(choice, tool)) throw rejection("tool_choice", "forces", tool, prices);
  }
  const [first] = unpriced;
  if (left === 0 && requiresTool(choice) && first !== undefined) {
    throw rejection("tool_choice", "forces", first, prices);
  }
  // Without tools there is nothing to choose, and providers reject a choice.
  if (left === 0) return [["tool_choice"], ["parallel_tool_calls"]];
  const { path, allowed } = allowedTools(choice);
  const gone = allowed.flatMap((entry, index) =>
    unpriced.some((tool) => isChosen(entry, tool)) ? index : [],
  );
  if (gone.length > 0 && gone.length === allowed.length && first !== undefined) {
    throw rejection("tool_choice", "allows nothing but", first, prices);
  }
  return gone.map((index) => [...path, index]);
}

/** OpenAI's choices name a type, Anthropic's the tool's own name. */
function isChosen(choice: Json | undefined, { type, name, calledBy }: HostedTool): boolean {
  if (!isObject(choice)) return false;
  const chosen = stringOf(choice["type"]) ?? "";
  if (chosen === type || (name !== null && pricedName(chosen) === name)) return true;
  return calledBy !== null && choice["name"] === calledBy;
}

function requiresTool(choice: Json | undefined): boolean {
  return choice === "required" || choice === "any" || objectOf(choice)?.["type"] === "any";
}

/** The tools that a choice is limited to, which chat nests once more than Responses does. */
function allowedTools(choice: Json | undefined): { path: ValuePath; allowed: readonly Json[] } {
  const nested = objectOf(objectOf(choice)?.["allowed_tools"]);
  if (nested !== null)
    return { path: ["tool_choice", "allowed_tools", "tools"], allowed: listOf(nested["tools"]) };
  return { path: ["tool_choice", "tools"], allowed: listOf(objectOf(choice)?.["tools"]) };
}

function rejection(
  param: string,
  verb: string,
  { type, name }: HostedTool,
  prices: DestinationPrices,
): Error {
  const tool = JSON.stringify(type);
  const advice = name === null ? "" : `, or ask the operator to set \`price.${name}\``;
  return invalidRequest(
    `\`${param}\` ${verb} ${tool}, but model "${prices.destination.model.id}" has no price for it. Remove it${advice}.`,
    param,
  );
}
