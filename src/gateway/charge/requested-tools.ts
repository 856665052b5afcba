import { invalidRequest } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { HostedToolName, ToolCalls } from "../../base/usage/hosted-tools.ts";
import { listOf, objectOf, stringOf } from "../../dialects/json/json-fields.ts";
import { pathOf } from "../../dialects/json/name-path.ts";
import type { ValuePath } from "../../dialects/json/remove-values.ts";
import { type HostedTool, type OfferedTools, usualContainerSize } from "../../dialects/tools/hosted-tools.ts";
import { providedBy } from "../../dialects/tools/tool-dependents.ts";
import { pricedName } from "../../dialects/tools/tool-families.ts";
import { isSearch } from "../../dialects/tools/web-search.ts";
import { type DestinationPrices, keyPermission } from "./destination-prices.ts";

/** Calls per hosted tool that a hold covers if the request sets no limit. */
const assumedCalls = 5;

/** Calls that a hold covers at most. A request can allow more, and is charged for them. */
const maxCallsHeld = 1000;

export function heldCalls(maxUses: number | null): number {
  return Math.min(maxUses ?? assumedCalls, maxCallsHeld);
}

/** The calls of hosted tools that a request is held for. */
export class HeldCalls {
  readonly most: { [Name in HostedToolName]?: number } = {};
  /** Calls that are made in any case. */
  least: ToolCalls = {};

  /** A tool without a name has no price. */
  add(name: HostedToolName | null, maxUses: number | null): void {
    if (name === null) return;
    this.most[name] = Math.min((this.most[name] ?? 0) + heldCalls(maxUses), maxCallsHeld);
  }
}

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
 * by default, and work without them. Throws if the model has to call it, or if no other tool is left.
 */
export function holdTools(
  { hosted, clientCount, dependents }: OfferedTools,
  body: JsonObject,
  prices: DestinationPrices,
  held: HeldCalls,
): UnpricedTools {
  if (prices.speakers.length === 0) {
    for (const { type, name, maxUses } of hosted)
      if (isSearch(type) && prices.translateSearch) held.add(name, maxUses);
    return noUnpricedTools;
  }
  const unpriced: HostedTool[] = [];
  const priced: HostedTool[] = [];
  for (const tool of hosted) {
    const { type, name, maxUses, runs } = tool;
    if (runs === null && !prices.coverCalls(name) && !prices.allows(nameOf(type))) {
      unpriced.push(tool);
      continue;
    }
    rejectSize(tool, prices);
    held.add(name, maxUses);
    priced.push(tool);
  }
  if (unpriced.length === 0) return noUnpricedTools;
  const choices = choicePaths(unpriced, clientCount + priced.length, body, prices);
  const orphans = dependents.filter(({ needs }) => provide(unpriced, needs) && !provide(priced, needs));
  const dropped = [...unpriced.map(({ path }) => path), ...orphans.map(({ path }) => path)];
  const names = [...unpriced.map(({ type }) => nameOf(type)), ...orphans.map(({ name }) => name)];
  return {
    paths: [...choices, ...withEmptied(dropped, body)],
    names: [...new Set(names)],
    count: unpriced.length,
  };
}

function provide(tools: readonly HostedTool[], needed: HostedToolName): boolean {
  return tools.some(({ type, name }) => providedBy(type, name) === needed);
}

/** The price of a tool is for a container of the default size. A larger one costs up to 64 times as much. */
function rejectSize({ type, sizePath }: HostedTool, prices: DestinationPrices): void {
  if (sizePath === null || prices.coverCalls(null)) return;
  if (prices.allows(containerSize) || prices.allows(nameOf(type))) return;
  const why = `requests a container size other than ${JSON.stringify(usualContainerSize)}`;
  throw prices.rejection(pathOf(sizePath), containerSize, why, "has no price for");
}

/** Operators allow the field by its name. */
const containerSize = "memory_limit";

function nameOf(type: string): string {
  return `tools.${type}`;
}

/** Providers reject an empty list of tools, so the tool, the namespace or the list that would be empty is removed with them. */
function withEmptied(paths: readonly ValuePath[], body: JsonObject): readonly ValuePath[] {
  const byParent = Map.groupBy(paths, (path) => pathOf(path.slice(0, -1)));
  const owners: ValuePath[] = [];
  const others: ValuePath[] = [];
  for (const members of byParent.values()) {
    const parent = members[0]?.slice(0, -1) ?? [];
    const isTools = parent.at(-1) === "tools";
    const isTool = typeof parent.at(-1) === "number" && parent.at(-2) === "tools";
    const isEmptied = (isTools || isTool) && sizeOf(valueAt(body, parent)) === members.length;
    if (!isEmptied) others.push(...members);
    else owners.push(isTool || parent.length === 1 ? parent : parent.slice(0, -1));
  }
  return owners.length === 0 ? paths : withEmptied([...others, ...owners], body);
}

function sizeOf(value: Json | undefined): number {
  return isObject(value) ? Object.keys(value).length : listOf(value).length;
}

function valueAt(body: JsonObject, path: ValuePath): Json | undefined {
  let value: Json | undefined = body;
  for (const step of path) {
    if (typeof step === "number") value = listOf(value)[step];
    else value = objectOf(value)?.[step];
  }
  return value;
}

/** Paths to remove from `tool_choice`. Throws if no tool is left, because the requested tools would all be missing. */
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
  if (left === 0 && first !== undefined) {
    if (requiresTool(choice)) throw rejection("tool_choice", "forces", first, prices);
    throw nothingLeft(unpriced, prices);
  }
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

function nothingLeft(unpriced: readonly HostedTool[], prices: DestinationPrices): Error {
  const { id } = prices.destination.model;
  const types = [...new Set(unpriced.map(({ type }) => JSON.stringify(type)))].join(", ");
  const advice = [...new Set(unpriced.map((tool) => missingSetting(tool, prices)))].join(" and ");
  return invalidRequest(
    `\`tools\` has only tools without a price for this key and model "${id}": ${types}. Remove them, or ask the operator to set ${advice}.`,
    "tools",
  );
}

function rejection(param: string, verb: string, tool: HostedTool, prices: DestinationPrices): Error {
  const why = `${verb} ${JSON.stringify(tool.type)}`;
  if (prices.lackPermission(tool.name)) return prices.permissionError(param, why);
  return invalidRequest(
    `\`${param}\` ${why}, but model "${prices.destination.model.id}" has no price for it. Remove it, or ask the operator to set ${missingSetting(tool, prices)}.`,
    param,
  );
}

/** The setting that would allow the tool. */
function missingSetting({ type, name }: HostedTool, prices: DestinationPrices): string {
  if (prices.lackPermission(name)) return keyPermission;
  return name === null ? `\`allow = ["${nameOf(type)}"]\`` : `\`price.${name}\``;
}
