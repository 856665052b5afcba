import { Type } from "@sinclair/typebox";
import { invalidRequest } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import type { RouteBody } from "./route.ts";

/** Reading a longer request at once would delay others. No provider accepts one. */
const maxCountedBytes = 4 * 1024 * 1024;

/** Two units of UTF-16 that are one character. */
const pairs = /[\ud800-\udbff][\udc00-\udfff]/g;

/** Counts code points in any encoding of the texts. Iterating over them would take much longer. */
export function countCharacters({ bytes }: RouteBody, textsOf: () => readonly string[]): number {
  if (bytes.length > maxCountedBytes) {
    throw invalidRequest(
      "The request is too large to count its characters. Send fewer or shorter texts.",
      "input",
    );
  }
  let count = 0;
  for (const text of textsOf()) count += (text.length + text.replace(pairs, "").length) / 2;
  return count;
}

const tokenIds = Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1 });

export const textsOrTokenIds = Type.Union(
  [
    Type.String(),
    Type.Array(Type.String(), { minItems: 1 }),
    tokenIds,
    Type.Array(tokenIds, { minItems: 1 }),
  ],
  { description: "A text, a list of texts, or token ids." },
);

/** A value that the schema allows, as a list. */
export function listed(sent: Json): readonly (string | readonly number[])[] {
  if (!Array.isArray(sent)) return [sent as string];
  return typeof sent[0] === "number" ? [sent as number[]] : (sent as (string | number[])[]);
}
