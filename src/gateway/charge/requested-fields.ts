import { GatewayError } from "../../base/errors.ts";
import type { BilledEffect } from "../../dialects/names/billed-fields.ts";
import type { RequestedField } from "../../dialects/names/inspect-body.ts";
import type { DestinationPrices } from "./destination-prices.ts";
import type { HeldCalls } from "./held-calls.ts";

/** Why a field without a price of its own is rejected. */
const reasons: Readonly<Record<Exclude<BilledEffect, "tool" | "template">, string>> = {
  routing: "can route the request to another model or host at another price",
  storage: "uses storage at the provider that is billed by the hour",
  agents: "can start sub-agents at an unknown cost",
};

/**
 * Holds for the tools that fields of the request turn on. Throws for a field that has no price and that the operator has
 * not allowed. Whether any of them has the provider run the model more than once.
 */
export function holdFields(
  fields: readonly RequestedField[],
  prices: DestinationPrices,
  held: HeldCalls,
): boolean {
  let mayRepeat = false;
  if (prices.speakers.length === 0) return mayRepeat;
  for (const field of fields) {
    const { name, effect, tool = null } = field;
    const isCovered = effect !== "routing" && effect !== "template" && prices.coverCalls(tool);
    if (!isCovered && !prices.allows(name)) throw rejectionOf(field, prices);
    if (effect !== "routing") mayRepeat = true;
    held.add(tool, null);
    // Such a search is made once, whatever the model thinks of it.
    if (name === "web_search_options") held.least = { web_search: 1 };
  }
  return mayRepeat;
}

function rejectionOf({ path, name, effect, tool }: RequestedField, prices: DestinationPrices): GatewayError {
  switch (effect) {
    case "template":
      return templateNotFound(name === "prompt" ? `${path}.id` : path, name);
    case "tool":
      return prices.rejection(
        path,
        name,
        `runs ${tool == null ? "a tool" : `"${tool}"`} at the provider`,
        tool == null ? "has no price for" : `has no \`price.${tool}\` for`,
      );
    default:
      return prices.rejection(path, name, reasons[effect]);
  }
}

/** A template is the operator's, and adds tools and text that the gateway cannot see. No response contains its id. */
function templateNotFound(path: string, name: string): GatewayError {
  return new GatewayError(
    "not_found",
    `\`${path}\` is not available to this key. Send the prompt text instead, or ask the operator to allow stored prompts (\`allow = ["${name}"]\`).`,
    { param: path },
  );
}
