/** What a route answers, as people look at it. */
export type Answer =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "vectors"; readonly vectors: readonly Vector[] }
  | { readonly kind: "scores"; readonly verdict: string; readonly scores: readonly Score[] }
  | { readonly kind: "images"; readonly images: readonly Picture[] }
  | { readonly kind: "sound"; readonly address: string };

export interface Vector {
  readonly length: number;
  readonly first: readonly number[];
}

/** From 0 to 1. */
export interface Score {
  readonly name: string;
  readonly value: number;
  readonly isHigh: boolean;
}

/** One that is elsewhere is not loaded: the page loads nothing from other places. */
export interface Picture {
  readonly address: string;
  readonly isElsewhere: boolean;
}

export const noAnswer: Answer = { kind: "text", text: "" };

/** An address within this page for bytes, so that the content policy needs to allow no others. */
export function addressOf(bytes: ArrayBuffer | Uint8Array<ArrayBuffer>, type: string): string {
  return URL.createObjectURL(new Blob([bytes], { type }));
}

/** The page keeps the bytes behind an address until they are given back. */
export function forgetAnswer(answer: Answer): void {
  if (answer.kind === "sound") URL.revokeObjectURL(answer.address);
  if (answer.kind !== "images") return;
  for (const { address, isElsewhere } of answer.images) if (!isElsewhere) URL.revokeObjectURL(address);
}
