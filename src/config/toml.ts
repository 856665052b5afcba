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

/** The document, or what is wrong with it. */
function tryParse(text: string): JsonObject | string {
  try {
    const parsed: unknown = Bun.TOML.parse(text);
    return isObject(parsed) ? parsed : "not a TOML document";
  } catch (error) {
    return (error as Error).message.replace(/^TOML Parse error: /, "");
  }
}

/**
 * Bun's parser does not say where it stopped. It reads from the front, so the line is the first after the
 * longest sound beginning at which the whole document's complaint appears. That costs one parse per line,
 * and only when there is an error to tell.
 */
function failingLine(text: string, complaint: string): number {
  const lines = text.split("\n");
  let sound = 0;
  for (let count = 1; count <= lines.length; count += 1) {
    if (typeof tryParse(lines.slice(0, count).join("\n")) !== "string") sound = count;
  }
  for (let count = sound + 1; count <= lines.length; count += 1) {
    if (tryParse(lines.slice(0, count).join("\n")) === complaint) return count;
  }
  return sound + 1;
}
