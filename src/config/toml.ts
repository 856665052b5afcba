import { isObject, type JsonObject } from "../base/json.ts";
import { ConfigError } from "./problems.ts";

/** Parses the text, or throws a ConfigError that names the line. */
export function parseToml(text: string, origin: string): JsonObject {
  const parsed = tryParse(text);
  if (typeof parsed === "string") {
    throw new ConfigError(origin, [{ path: `line ${failingLine(text, parsed)}`, message: parsed }]);
  }
  return parsed;
}

/** The document, or the parser's message. */
function tryParse(text: string): JsonObject | string {
  try {
    const parsed: unknown = Bun.TOML.parse(text);
    return isObject(parsed) ? parsed : "not a TOML document";
  } catch (error) {
    return (error as Error).message.replace(/^TOML Parse error: /, "");
  }
}

/**
 * Finds the line of a syntax error, which Bun's parser does not report. Every prefix that includes the line fails like
 * the whole document, and the shortest one ends with it. A binary search needs few parses: one per line would block a
 * gateway that checks a long file.
 */
function failingLine(text: string, message: string): number {
  const lines = text.split("\n");
  let [before, failing] = [0, lines.length];
  while (failing - before > 1) {
    const middle = Math.floor((before + failing) / 2);
    const prefix = lines.slice(0, middle).map((line) => `${line}\n`);
    if (tryParse(prefix.join("")) === message) failing = middle;
    else before = middle;
  }
  return failing;
}
