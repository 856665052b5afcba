import { invalidRequest } from "../base/errors.ts";
import type { PublicModel } from "./public-model.ts";

/**
 * A model in the shape of Anthropic's Models API, with our own fields beside it. There `capabilities` is an object with
 * a fixed set of members, or null if they are not known; ours move out of its way.
 */
export interface AnthropicModel extends Omit<PublicModel, "capabilities"> {
  readonly capabilities: null;
  readonly sluice_capabilities: PublicModel["capabilities"];
  readonly max_input_tokens: number | null;
  readonly max_tokens: number | null;
  readonly lifecycle: "active";
  readonly line: null;
  readonly deprecated_at: null;
  readonly retires_at: null;
}

export function anthropicModel(model: PublicModel): AnthropicModel {
  return {
    ...model,
    capabilities: null,
    sluice_capabilities: model.capabilities,
    max_input_tokens: model.context_window,
    max_tokens: model.max_output_tokens,
    lifecycle: "active",
    line: null,
    deprecated_at: null,
    retires_at: null,
  };
}

export interface AnthropicPage {
  readonly data: readonly AnthropicModel[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

/** Anthropic's own maximum. It is our default too, because readers that do not page should miss nothing. */
const maxLimit = 1000;

/** The page that the query asks for: from the beginning, after a model, or before one. */
export function anthropicPage(models: readonly PublicModel[], query: URLSearchParams): AnthropicPage {
  const limit = limitIn(query);
  const after = placeOf("after_id", query, models);
  const before = placeOf("before_id", query, models);
  if (after !== null && before !== null) {
    throw invalidRequest("`after_id` and `before_id` exclude each other; send one of them.", "after_id");
  }
  const isBackwards = before !== null;
  const start = isBackwards ? Math.max(0, before - limit) : after === null ? 0 : after + 1;
  const end = isBackwards ? before : Math.min(models.length, start + limit);
  const page = models.slice(start, end);
  return {
    data: page.map(anthropicModel),
    has_more: isBackwards ? start > 0 : end < models.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

function limitIn(query: URLSearchParams): number {
  const asked = query.get("limit");
  if (asked === null) return maxLimit;
  const limit = Number(asked);
  if (/^\d{1,4}$/.test(asked) && limit >= 1 && limit <= maxLimit) return limit;
  throw invalidRequest(`\`limit\` must be a whole number from 1 to ${maxLimit}.`, "limit");
}

function placeOf(name: string, query: URLSearchParams, models: readonly PublicModel[]): number | null {
  const id = query.get(name);
  if (id === null || id === "") return null;
  const place = models.findIndex((model) => model.id === id);
  if (place !== -1) return place;
  throw invalidRequest(`\`${name}\` must be the id of a model on the list.`, name);
}
