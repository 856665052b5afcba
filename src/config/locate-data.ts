import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { whyForeign, whyForeignStats } from "../base/files/foreign.ts";
import { isObject } from "../base/json.ts";
import type { Environment } from "../base/system/environment.ts";
import { systemCode } from "../base/system/system-code.ts";
import { defaults } from "./defaults.ts";
import { ConfigError } from "./problems.ts";
import { resolvePath } from "./resolve-path.ts";
import { findConfig, type SourceOptions } from "./source.ts";
import { parseToml } from "./toml.ts";

export interface LocateOptions extends SourceOptions {
  readonly data?: string | undefined;
}

/** `serve` writes it to its working folder, if its data is not where other commands would look for it. */
export function pointerFile(cwd: string): string {
  return join(cwd, ".sluice-data");
}

/**
 * The data folder, for commands that need nothing else of the configuration. The command line and the environment take
 * precedence, then the pointer file of a gateway that was started here, then the configuration.
 */
export function locateData(options: LocateOptions): string {
  const { data, file, env, cwd = process.cwd() } = options;
  const isNamed = data !== undefined || file !== undefined || env["SLUICE_DATA"] || env["SLUICE_CONFIG"];
  return (isNamed ? null : pointedTo(cwd)) ?? configuredDataDir(options);
}

/** A pointer to a folder that no longer exists is ignored. */
function pointedTo(cwd: string): string | null {
  const dir = readOwn(pointerFile(cwd))?.trim() ?? "";
  return dir !== "" && existsSync(dir) ? dir : null;
}

/**
 * Null if the file does not exist. Throws if another user can have written it: they could plant one and choose the data
 * that a command works on.
 */
function readOwn(file: string): string | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (systemCode(error) === "ELOOP") throw notFollowed(file, "is a symbolic link");
    return null;
  }
  try {
    const why = whyForeignStats(fstatSync(descriptor));
    if (why !== null) throw notFollowed(file, why);
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

function notFollowed(file: string, why: string): ConfigError {
  const message = `it points to a data folder, but it ${why}, so it is ignored; pass the folder with --data`;
  return new ConfigError(file, [{ path: "", message }]);
}

/**
 * The data folder according to flags, environment and configuration. The file is parsed but not checked, so that commands
 * work even if a provider in it is wrong. It is not read at all if a flag or SLUICE_DATA names the folder.
 */
export function configuredDataDir(options: LocateOptions): string {
  const { env, data: flag, cwd = process.cwd() } = options;
  if (flag !== undefined || env["SLUICE_DATA"]) {
    return resolveDataDir({ flag, env, configured: undefined, cwd, folder: cwd });
  }
  const source = findConfig(options);
  const { server } = parseToml(source.text, source.origin);
  const configured = isObject(server) && typeof server["data"] === "string" ? server["data"] : undefined;
  return resolveDataDir({ flag, env, configured, cwd, folder: source.folder });
}

/** Relative paths in flags and environment start at the working folder, paths in the file at the file. */
export function resolveDataDir(from: {
  readonly flag: string | undefined;
  readonly env: Environment;
  readonly configured: string | undefined;
  readonly cwd: string;
  readonly folder: string;
}): string {
  const typed = from.flag ?? (from.env["SLUICE_DATA"] || undefined);
  if (typed !== undefined) return resolvePath(from.cwd, typed, from.env);
  if (from.configured !== undefined) return resolvePath(from.folder, from.configured, from.env);
  return usualDataDir(from.cwd);
}

/** Throws if another user can have written the folder: the address that a key is sent to is read from it. */
function usualDataDir(cwd: string): string {
  const dir = resolve(cwd, defaults.dataDir);
  const why = whyForeign(dir);
  if (why === null) return dir;
  const message = `the folder ${why}, so it is not used; if you trust it, pass it with --data`;
  throw new ConfigError(dir, [{ path: "", message }]);
}
