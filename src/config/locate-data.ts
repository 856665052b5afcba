import { isObject } from "../base/json.ts";
import { resolveDataDir } from "./server.ts";
import { findConfig, type SourceOptions } from "./source.ts";
import { parseToml } from "./toml.ts";

/**
 * Where the data is, for commands that need nothing else of the configuration: they must work although a
 * provider in it is wrong, and start without checking it. It is not even read when a flag or SLUICE_DATA says.
 */
export function locateData(options: SourceOptions & { readonly data?: string | undefined }): string {
  const { env, data: flag, cwd = process.cwd() } = options;
  if (flag !== undefined || env["SLUICE_DATA"]) {
    return resolveDataDir({ flag, env, configured: undefined, cwd, folder: cwd });
  }
  const source = findConfig(options);
  const { server } = parseToml(source.text, source.origin);
  const configured = isObject(server) && typeof server["data"] === "string" ? server["data"] : undefined;
  return resolveDataDir({ flag, env, configured, cwd, folder: source.folder });
}
