import { nearestNames } from "../base/text/nearest.ts";

/** `, did you mean "kind"?` to append to a message, or an empty string. */
export function didYouMean(typed: string, known: Iterable<string>): string {
  const [name] = nearestNames(typed, known, 1);
  return name === undefined ? "" : `, did you mean ${JSON.stringify(name)}?`;
}
