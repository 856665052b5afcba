import type { JsonObject } from "../../base/json.ts";
import { parseObject } from "../json/json-fields.ts";

/** Contains nothing that JSON escapes. */
const probe = "<another text>";

/** The frames of a provider: like a template, with figures in them that change from frame to frame. */
export interface FramePattern {
  readonly before: string;
  /** The bytes between the text and the end of the data, split at the figures. */
  readonly segments: readonly string[];
  /** The names of the figures, one less than there are segments. */
  readonly figures: readonly string[];
}

/** How a stream reader finds the variable parts of a frame. */
export interface FrameProbe {
  textOf(data: JsonObject): string | null;
  /** Undefined if frames have no figures. */
  readonly figures: FigureProbe | undefined;
}

/** Figures that every frame reports again, such as the usage so far. */
export interface FigureProbe {
  /** Matches `"name": 123`, with the name as its group; global. */
  readonly pattern: RegExp;
  /** The figures of a parsed frame, by name. */
  of(data: JsonObject): JsonObject;
}

/**
 * The pattern of a frame with one `data` line. To verify which of its strings is the text and which numbers are figures,
 * they are replaced by others, and the reader has to find those. Null if it does not, or if the text was escaped
 * differently than `JSON.stringify` does it.
 */
export function patternOf(
  event: string,
  data: string,
  text: string,
  probing: FrameProbe,
): FramePattern | null {
  const literal = JSON.stringify(text);
  const at = data.lastIndexOf(literal);
  if (at === -1 || text === probe || data.includes("\n")) return null;
  const before = data.slice(0, at + 1);
  const { segments, figures } = splitAtFigures(data.slice(at + literal.length - 1), probing.figures);
  const numbers = figures.map((_, index) => firstProbeFigure + index);
  const rest = segments.map((segment, index) => segment + (numbers[index] ?? "")).join("");
  const probed = parseObject(before + probe + rest);
  if (probed === null || probing.textOf(probed) !== probe) return null;
  const found = probing.figures?.of(probed);
  if (figures.some((name, index) => found?.[name] !== numbers[index])) return null;
  const head = event === "" ? "data: " : `event: ${event}\ndata: `;
  return { before: head + before, segments, figures };
}

/** Unlikely in a frame; each figure is probed with another number. */
const firstProbeFigure = 987_654_001;

function splitAtFigures(rest: string, probing: FigureProbe | undefined) {
  const segments: string[] = [];
  const figures: string[] = [];
  let from = 0;
  for (const match of probing === undefined ? [] : rest.matchAll(probing.pattern)) {
    const [matched, name = ""] = match;
    segments.push(rest.slice(from, match.index) + matched.replace(/\d+$/, ""));
    figures.push(name);
    from = match.index + matched.length;
  }
  return { segments: [...segments, rest.slice(from)], figures };
}
