import type { IrCitation, IrSpan } from "./ir.ts";

/** The field of a text block, or of the event that ends one; absent if nothing is cited. */
export function citing(citations: readonly IrCitation[]): { readonly citations?: readonly IrCitation[] } {
  return citations.length === 0 ? {} : { citations };
}

/** For dialects that require a span: all of the text if there is none, or one that the text does not have. */
export function spanWithin({ span }: IrCitation, textLength: number): IrSpan {
  const fits = span !== null && span.start >= 0 && span.start <= span.end && span.end <= textLength;
  return fits ? span : { start: 0, end: textLength };
}
