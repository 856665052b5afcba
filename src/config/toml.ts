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
 * Bun's parser does not report the line. It reads from the front, so every prefix that has the line fails as the whole document
 * does, and the shortest of them ends with it. Halving finds it by a few parses: one for each line would hold up a gateway that
 * checks a long file.
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
