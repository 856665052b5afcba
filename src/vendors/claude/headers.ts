import type { ForwardedHeaders } from "../../dialects/headers.ts";

/**
 * The version of Anthropic's API that a cloud takes in the body: the client's. The versions of 2023 have a name of the
 * cloud's own, and are what translated requests are written for: later ones reject temperature, top_p and top_k.
 */
export function anthropicVersion(headers: ForwardedHeaders, of2023: string): string {
  const requested = headers["anthropic-version"];
  return requested === undefined || /\b2023-/.test(requested) ? of2023 : requested;
}

export interface SortedBetas {
  /** By the cloud's own names. */
  readonly known: string[];
  /** The dropped betas, as the client wrote them. */
  readonly unknown: readonly string[];
}

/** Newer names of a beta that clouds know under its earlier name. */
const renamedBeta = /^advanced-tool-use-.*/;
const cloudsName = "tool-search-tool-2025-10-19";

/** The client's betas, split into those that a cloud knows and those that it would reject with 400. */
export function sortBetas(headers: ForwardedHeaders, isKnown: RegExp): SortedBetas {
  const known = new Set<string>();
  const unknown = new Set<string>();
  for (const item of (headers["anthropic-beta"] ?? "").split(",")) {
    const beta = item.trim();
    const name = isKnown.test(beta) ? beta : beta.replace(renamedBeta, cloudsName);
    if (isKnown.test(name)) known.add(name);
    else if (beta !== "") unknown.add(beta);
  }
  return { known: [...known], unknown: [...unknown] };
}

/** The headers with the betas that the cloud knows. */
export function withBetas(headers: ForwardedHeaders, { known }: SortedBetas): ForwardedHeaders {
  const { "anthropic-beta": _, ...rest } = headers;
  return known.length === 0 ? rest : { ...rest, "anthropic-beta": known.join(",") };
}

/** The names under which dropped betas are reported. */
export function droppedBetas({ unknown }: SortedBetas): readonly string[] {
  return unknown.map((beta) => `anthropic-beta: ${beta}`);
}
