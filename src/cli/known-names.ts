import type { KnownNames } from "../admin/key-terms/known-names.ts";
import type { ExaminedSettings } from "../config/load.ts";
import type { DataOptions } from "./help.ts";
import { servedNames } from "./serve/files-for-commands.ts";
import type { Terminal } from "./terminal/terminal.ts";

/**
 * The model and provider names that a key in this data folder can be limited to: the names the gateway last served, and the
 * names in the configuration found here. Null if neither is known, e.g. a folder never served, with its configuration elsewhere.
 */
export function knownNames(
  options: DataOptions,
  dir: string,
  { env }: Terminal,
  examine: () => ExaminedSettings,
): KnownNames | null {
  const served = servedNames(dir);
  const written = namesIn(examine);
  if (served === null) {
    const isNamed = options.data !== undefined || options.store !== undefined;
    const mayBeElsewhere = isNamed || Boolean(env["SLUICE_DATA"]) || Boolean(env["SLUICE_STORE"]);
    return written === null || (written.isBuiltIn && mayBeElsewhere) ? null : written;
  }
  if (written === null || written.isBuiltIn) return served;
  return {
    providers: [...served.providers, ...written.providers],
    models: [...served.models, ...written.models],
  };
}

function namesIn(examine: () => ExaminedSettings): (KnownNames & { readonly isBuiltIn: boolean }) | null {
  try {
    const { settings, source } = examine();
    return { ...settings.named, isBuiltIn: source.file === null };
  } catch {
    // `config check` reports an unreadable file; a key can be created without it.
    return null;
  }
}
