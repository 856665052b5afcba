import { invalidRequest } from "../../base/errors.ts";
import type { RouteBody } from "./route.ts";

/** Longer requests take too long to be read whole beside others; no provider takes them. */
const mostCountedBytes = 4 * 1024 * 1024;

/** Two units of UTF-16 that are one character. */
const pairs = /[\ud800-\udbff][\udc00-\udfff]/g;

/** Code points, whatever the texts are stored in. Iterating over them would take much longer. */
export function countCharacters({ bytes }: RouteBody, textsOf: () => readonly string[]): number {
  if (bytes.length > mostCountedBytes) {
    throw invalidRequest("The request is too large for a price by characters; send less at a time.", "input");
  }
  let count = 0;
  for (const text of textsOf()) count += (text.length + text.replace(pairs, "").length) / 2;
  return count;
}
