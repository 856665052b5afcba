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
 * Bun's parser does not report the line. It reads from the front, so the line is the first one, after the longest prefix
 * that parses, at which the prefix fails with the same message as the whole document. That costs one parse
 * per line, but only if there is an error.
 */
function failingLine(text: string, message: string): number {
  const lines = text.split("\n");
  let validLines = 0;
  for (let count = 1; count <= lines.length; count += 1) {
    if (typeof tryParse(lines.slice(0, count).join("\n")) !== "string") validLines = count;
  }
  for (let count = validLines + 1; count <= lines.length; count += 1) {
    if (tryParse(lines.slice(0, count).join("\n")) === message) return count;
  }
  return validLines + 1;
}
