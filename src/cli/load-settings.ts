import type { StoredPrices } from "../config/catalog/stored-prices.ts";
import { configFileName } from "../config/defaults.ts";
import type { Settings } from "../config/settings.ts";
import type { ConfigOptions } from "./help.ts";
import type { Terminal } from "./terminal/terminal.ts";
import { showWarnings } from "./warnings.ts";

/**
 * Loads the settings for a command that reports on them, and prints their warnings. Notes if the configuration is the
 * built-in one, because a gateway elsewhere may have a different one.
 */
export async function loadAndWarn(
  options: ConfigOptions,
  terminal: Terminal,
  prices: StoredPrices | null = null,
): Promise<Settings> {
  const { loadSettings } = await import("../config/load.ts");
  const { env, cwd } = terminal;
  const { settings, source } = loadSettings({ file: options.config, env, cwd, prices });
  const notice = `no ${configFileName} here, so this is the built-in configuration; pass --config FILE or set SLUICE_CONFIG to use a file`;
  showWarnings(source.file === null ? [notice, ...settings.warnings] : settings.warnings, terminal);
  return settings;
}
