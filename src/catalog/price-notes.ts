import type { Settings } from "../config/settings.ts";
import { publishedPrice } from "./price.ts";
import { announcedPriceInUsd, priceDifferences } from "./price-view.ts";

const maxNamed = 20;

/** The prices that begin after a moment, one sentence for each model and day. */
export function laterPriceNotes({ models }: Pick<Settings, "models">, atMs: number): string[] {
  const notes = models.flatMap((model) => {
    const price = publishedPrice(model);
    if (price?.later === undefined) return [];
    let before = announcedPriceInUsd(price, atMs);
    return Object.entries(before.later ?? {}).map(([day, next]) => {
      const differences = priceDifferences(before, next);
      before = next;
      const changes = differences.length === 0 ? "the same price" : differences.join(", ");
      return `${model.id}: from ${day}, ${changes}`;
    });
  });
  const more = notes.length - maxNamed;
  return more > 0 ? [...notes.slice(0, maxNamed), `${more} more prices begin later`] : notes;
}
