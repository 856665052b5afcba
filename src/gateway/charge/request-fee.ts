import { invalidRequest } from "../../base/errors.ts";
import type { Quantities } from "../../base/money/rates.ts";
import { hasRequestFee, hasSizedFee } from "../../catalog/price.ts";
import { objectOf } from "../../dialects/json/json-fields.ts";
import type { ClientRequest } from "../request/client-request.ts";
import type { Destination } from "./destination-prices.ts";

/** A provider that has a fee for each size takes this one if the request names none. */
const defaultSize = "low";
const sizes: ReadonlySet<unknown> = new Set([defaultSize, "medium", "high"]);

/**
 * The fee of a generation request under the names that prices have for it: one fee, or one for each size of the search that
 * Perplexity's models start with. Null for nearly all models. Throws for a search whose fee is not known.
 */
export function requestFee(
  { truncated, mentions }: Pick<ClientRequest, "truncated" | "mentions">,
  { configured, model }: Pick<Destination, "configured" | "model">,
): Quantities | null {
  const price = configured.catalog.holdPrice(model);
  if (price === null || !hasRequestFee(price)) return null;
  if (!hasSizedFee(price)) return { requests: 1 };
  const nested = mentions.billed.find(
    ({ name, path }) => name === "web_search_options" && path !== "web_search_options",
  );
  if (nested !== undefined)
    throw invalidRequest(
      `\`${nested.path}\` determines the request's fee. Send \`web_search_options\` instead.`,
      nested.path,
    );
  const options = objectOf(truncated["web_search_options"]) ?? {};
  const { search_context_size: size = null, search_type: type = null } = options;
  if (size !== null && !sizes.has(size))
    throw invalidRequest(
      '`web_search_options.search_context_size` must be "low", "medium" or "high".',
      "web_search_options.search_context_size",
    );
  if (type !== null && type !== "fast")
    throw invalidRequest(
      `\`web_search_options.search_type\` has no price for model "${model.id}". Remove it, or send "fast".`,
      "web_search_options.search_type",
    );
  return { requests: 1, [`requests.${String(size ?? defaultSize)}`]: 1 };
}
