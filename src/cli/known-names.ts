import type { KnownNames } from "../admin/key-terms/known-names.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { expandCatalogs } from "../config/catalog/expand.ts";
import { findConfig } from "../config/source.ts";
import { parseToml } from "../config/toml.ts";
import type { DataOptions } from "./help.ts";
import { servedNames } from "./serve/files-for-commands.ts";
import type { Terminal } from "./terminal/terminal.ts";

/**
 * The model and provider names that a key in this data folder can be limited to: the names the gateway last served, and the
 * names in the configuration found here. Null if neither is known, e.g. a folder never served, with its configuration elsewhere.
 */
export function knownNames(options: DataOptions, dir: string, terminal: Terminal): KnownNames | null {
  const served = servedNames(dir);
  const written = namesInConfig(options.config, terminal);
  if (served === null) {
    const { env } = terminal;
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

interface WrittenNames extends KnownNames {
  readonly isBuiltIn: boolean;
}

function namesInConfig(file: string | undefined, { env, cwd }: Terminal): WrittenNames | null {
  try {
    const source = findConfig({ file, env, cwd });
    const { providers, models } = expandCatalogs(parseToml(source.text, source.origin)).document;
    return {
      isBuiltIn: source.file === null,
      providers: isObject(providers) ? Object.keys(providers) : [],
      models: Array.isArray(models) ? models.flatMap((model) => (isObject(model) ? namesOf(model) : [])) : [],
    };
  } catch {
    // `config check` reports an unreadable file; a key can be created without it.
    return null;
  }
}

function namesOf({ id, aliases }: JsonObject): string[] {
  return [id, ...(Array.isArray(aliases) ? aliases : [])].filter((name) => typeof name === "string");
}
