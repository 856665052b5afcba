import { listAt, numberAt, textAt, valueAt } from "./json.ts";
import type { ToolCall } from "./turns.ts";

/** A response, by how it is shown. */
export type Answer =
  | { readonly kind: "text"; readonly text: string; readonly calls?: readonly ToolCall[] }
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

/** An external image is not loaded: the page loads nothing from other hosts. */
export interface Picture {
  readonly address: string;
  readonly isExternal: boolean;
}

export const noAnswer: Answer = { kind: "text", text: "" };

/** An object URL for bytes, so that the content policy need not allow other sources. */
export function addressOf(bytes: ArrayBuffer | Uint8Array<ArrayBuffer>, type: string): string {
  return URL.createObjectURL(new Blob([bytes], { type }));
}

/** Releases the bytes behind object URLs. */
export function forgetAnswer(answer: Answer): void {
  if (answer.kind === "sound") URL.revokeObjectURL(answer.address);
  if (answer.kind !== "images") return;
  for (const { address, isExternal } of answer.images) if (!isExternal) URL.revokeObjectURL(address);
}

const shownNumbers = 6;

export function textAnswer(text: string): Answer {
  return { kind: "text", text };
}

export function vectorsIn(body: unknown): Answer {
  const vectors = listAt(body, "data").map((item) => {
    const numbers = listAt(item, "embedding").filter((each) => typeof each === "number");
    return { length: numbers.length, first: numbers.slice(0, shownNumbers) };
  });
  return { kind: "vectors", vectors };
}

/** The categories of the first text, the most likely first. */
export function moderationIn(body: unknown): Answer {
  const result = valueAt(body, "results.0");
  const flags = valueAt(result, "categories");
  const scores = Object.entries(valueAt(result, "category_scores") ?? {}).map(
    ([name, value]): Score => ({ name, value: Number(value), isHigh: valueAt(flags, name) === true }),
  );
  const verdict = valueAt(result, "flagged") === true ? "flagged" : "not flagged";
  return { kind: "scores", verdict, scores: scores.toSorted((one, other) => other.value - one.value) };
}

/** `results`, or `data` as some providers have it. */
export function rankingIn(body: unknown, documents: readonly string[]): Answer {
  const scores = listAt(body, valueAt(body, "results") === undefined ? "data" : "results").map((item) => {
    const index = numberAt(item, "index");
    return {
      name: documents[index] ?? `document ${index}`,
      value: numberAt(item, "relevance_score"),
      isHigh: false,
    };
  });
  return { kind: "scores", verdict: "best first", scores };
}

const formats = { jpg: "jpeg", jpeg: "jpeg", webp: "webp" } as const;

export function imagesIn(body: unknown): Answer {
  const format = textAt(body, "output_format");
  const type = `image/${formats[format as keyof typeof formats] ?? "png"}`;
  const images = listAt(body, "data").map((item) => {
    const encoded = textAt(item, "b64_json");
    if (encoded === "") return { address: textAt(item, "url"), isExternal: true };
    return {
      address: addressOf(
        Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0)),
        type,
      ),
      isExternal: false,
    };
  });
  return { kind: "images", images };
}
