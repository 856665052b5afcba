import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StoredPrices } from "../../src/config/catalog/stored-prices.ts";
import { type LoadedSettings, loadSettings } from "../../src/config/load.ts";
import { ConfigError } from "../../src/config/problems.ts";
import type { Flags } from "../../src/config/server.ts";
import { newFolder } from "../support/new-folder.ts";

export interface Given {
  readonly env?: Record<string, string>;
  readonly flags?: Flags;
  readonly prices?: StoredPrices;
}

/** Loads the text as a real file in a folder of its own. */
export function load(toml: string, given: Given = {}): LoadedSettings {
  const file = join(newFolder(), "sluice.toml");
  writeFileSync(file, toml);
  return loadSettings({ file, env: given.env ?? {}, flags: given.flags, prices: given.prices });
}

/** The problems of a text that must not load, as `path: message`. */
export function problemsOf(toml: string, given: Given = {}): string[] {
  try {
    load(toml, given);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  throw new Error("the configuration was accepted");
}

/** The warnings of a text that loads, without the lines that they name. */
export function warningsOf(toml: string, given: Given = {}): string[] {
  return load(toml, given).settings.warnings.map((warning) => warning.replaceAll(/ \(line \d+\)/g, ""));
}

export const demoModel =
  '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true\n';
