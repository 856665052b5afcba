import { isObject } from "../base/json.ts";
import { encryptionKeyAt } from "./encryption-key.ts";
import { Places } from "./places.ts";
import { ConfigError, ProblemList } from "./problems.ts";
import { findConfig, type SourceOptions } from "./source.ts";
import { parseToml } from "./toml.ts";

/** The key of recorded content, for commands that need no other setting; null if there is none. `reference` replaces the configured one. */
export function locateContentKey(options: SourceOptions, reference?: string): Uint8Array | null {
  const source = findConfig(options);
  const document = parseToml(source.text, source.origin);
  const { content } = document;
  const configured = isObject(content) && typeof content["key"] === "string" ? content["key"] : undefined;
  const named = reference ?? configured;
  if (named === undefined) return null;
  const places = new Places(source.text, document);
  const problems = new ProblemList(places);
  const context = { env: options.env, folder: source.folder, problems, places, warnings: [] };
  const key = encryptionKeyAt(reference === undefined ? "content.key" : "--new-key", named, context);
  if (problems.all.length > 0) throw new ConfigError(source.origin, problems.all);
  return key;
}
