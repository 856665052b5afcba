import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../base/json.ts";
import { resolveDataDir } from "./server.ts";
import { findConfig, type SourceOptions } from "./source.ts";
import { parseToml } from "./toml.ts";

export interface LocateOptions extends SourceOptions {
  readonly data?: string | undefined;
}

/** In the folder that `serve` was started in: where its data is, when it is not where commands would look. */
export function pointerFile(cwd: string): string {
  return join(cwd, ".sluice-data");
}

/**
 * Where the data is, for commands that need nothing else of the configuration. What is named on the command line or in
 * the environment comes first, then what a gateway that was started here has left.
 */
export function locateData(options: LocateOptions): string {
  const { data, file, env, cwd = process.cwd() } = options;
  const isNamed = data !== undefined || file !== undefined || env["SLUICE_DATA"] || env["SLUICE_CONFIG"];
  return (isNamed ? null : pointedTo(cwd)) ?? usualDataDir(options);
}

/** A pointer to data that is gone counts for nothing. */
function pointedTo(cwd: string): string | null {
  try {
    const dir = readFileSync(pointerFile(cwd), "utf8").trim();
    return dir !== "" && existsSync(dir) ? dir : null;
  } catch {
    return null;
  }
}

/**
 * Where flags, environment and configuration say that the data is. The commands must work although a provider in the
 * file is wrong, and start without checking it. It is not even read when a flag or SLUICE_DATA says.
 */
export function usualDataDir(options: LocateOptions): string {
  const { env, data: flag, cwd = process.cwd() } = options;
  if (flag !== undefined || env["SLUICE_DATA"]) {
    return resolveDataDir({ flag, env, configured: undefined, cwd, folder: cwd });
  }
  const source = findConfig(options);
  const { server } = parseToml(source.text, source.origin);
  const configured = isObject(server) && typeof server["data"] === "string" ? server["data"] : undefined;
  return resolveDataDir({ flag, env, configured, cwd, folder: source.folder });
}
