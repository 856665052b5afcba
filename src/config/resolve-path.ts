import { resolve } from "node:path";
import type { Environment } from "../base/system/environment.ts";

/** Resolves a path that no shell has processed, so a leading `~` is expanded here. */
export function resolvePath(folder: string, path: string, env: Environment): string {
  const home = env["HOME"];
  return home && /^~(?=\/|$)/.test(path) ? resolve(home, `.${path.slice(1)}`) : resolve(folder, path);
}
