import { invalidRequest } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { listOf, objectOf, stringOf } from "../../dialects/json/json-fields.ts";
import type { ValuePath } from "../../dialects/json/remove-values.ts";
import { pathOf } from "../../dialects/names/name-path.ts";
import { type HostedTool, type OfferedTools, pricedName } from "../../dialects/tools/hosted-tools.ts";
import type { DestinationPrices } from "./destination-prices.ts";
import type { HeldCalls } from "./held-calls.ts";

/** What is left out of a request because nobody knows what it costs. */
export interface Withheld {
  readonly paths: readonly ValuePath[];
  /** As the client is told of them. */
  readonly names: readonly string[];
  /** How many tools. */
  readonly count: number;
}

export const nothingWithheld: Withheld = { paths: [], names: [], count: 0 };

/**
 * Holds for the calls of tools that the provider runs. One without a price that is only offered is withheld: agents offer
 * searches by default, and do without. Throws if the model has to call it.
 */
export function holdTools(
  { hosted, clientCount }: OfferedTools,
  body: JsonObject,
  prices: DestinationPrices,
  held: HeldCalls,
): Withheld {
  if (prices.speakers.length === 0) return nothingWithheld;
  const withheld: HostedTool[] = [];
  for (const tool of hosted) {
    const { type, name, maxUses, runs } = tool;
    if (runs === null && !prices.coverCalls(name) && !prices.allows(nameOf(type))) withheld.push(tool);
    else held.add(name, maxUses);
  }
  if (withheld.length === 0) return nothingWithheld;
  const left = clientCount + hosted.length - withheld.length;
  return {
    paths: [
      ...choicePaths(withheld, left, body, prices),
      ...withEmptied(
        withheld.map(({ path }) => path),
        body,
      ),
    ],
    names: [...new Set(withheld.map(({ type }) => nameOf(type)))],
    count: withheld.length,
  };
}

function nameOf(type: string): string {
  return `tools.${type}`;
}

/** Providers refuse an empty list of tools, so whoever would have one goes with it: a namespace, or the list itself. */
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

/** What the choice of a tool is left with. Throws if it leaves the model nothing but what is withheld. */
function choicePaths(
  withheld: readonly HostedTool[],
  left: number,
  { tool_choice: choice }: JsonObject,
  prices: DestinationPrices,
): ValuePath[] {
  for (const tool of withheld) {
    if (tool.isInMessage) throw refusal(pathOf([...tool.path, "type"]), "offers", tool, prices);
    if (isChosen(choice, tool)) throw refusal("tool_choice", "forces", tool, prices);
  }
  const [first] = withheld;
  if (left === 0 && requiresTool(choice) && first !== undefined) {
    throw refusal("tool_choice", "forces", first, prices);
  }
  // Without tools there is nothing to choose, and providers say so.
  if (left === 0) return [["tool_choice"], ["parallel_tool_calls"]];
  const { path, allowed } = allowedTools(choice);
  const gone = allowed.flatMap((entry, index) =>
    withheld.some((tool) => isChosen(entry, tool)) ? index : [],
  );
  if (gone.length > 0 && gone.length === allowed.length && first !== undefined) {
    throw refusal("tool_choice", "allows nothing but", first, prices);
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

function refusal(param: string, verb: string, { type, name }: HostedTool, prices: DestinationPrices): Error {
  const tool = JSON.stringify(type);
  const advice = name === null ? "" : `, or ask the operator to set \`price.${name}\``;
  return invalidRequest(
    `\`${param}\` ${verb} ${tool}, but model "${prices.destination.model.id}" has no price for it. Remove it${advice}.`,
    param,
  );
}
