import { resolve } from "node:path";
import type { Environment } from "../base/system/environment.ts";

/** A path that no shell has seen, so that a `~` at its beginning is still to be replaced. */
export function resolvePath(folder: string, path: string, env: Environment): string {
  const home = env["HOME"];
  return home && /^~(?=\/|$)/.test(path) ? resolve(home, `.${path.slice(1)}`) : resolve(folder, path);
}
