import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KnownNames } from "../../admin/operations/known-names.ts";
import { isObject } from "../../base/json.ts";
import { configuredDataDir, pointerFile } from "../../config/locate-data.ts";
import type { Settings } from "../../config/settings.ts";
import type { Terminal } from "../terminal/terminal.ts";

const servedFile = "served.json";

/**
 * Files that a gateway leaves for the commands: in its data folder, the names that it serves; in its working
 * directory, where the data is, if commands would look elsewhere. If they cannot be written, commands work without
 * them.
 */
export function writeFilesForCommands({ server, named }: Settings, { env, cwd }: Terminal): void {
  attempt(() => writeFileSync(join(server.dataDir, servedFile), JSON.stringify(named), { mode: 0o600 }));
  attempt(() => {
    if (configuredDataDir({ env, cwd }) === server.dataDir) rmSync(pointerFile(cwd), { force: true });
    else writeFileSync(pointerFile(cwd), `${server.dataDir}\n`, { mode: 0o644 });
  });
}

function attempt(write: () => void): void {
  try {
    write();
  } catch {
    // Never a reason not to serve.
  }
}

/** Every name that the gateway on this data last served; null if it never ran. */
export function servedNames(dir: string): KnownNames | null {
  try {
    const { providers, models } = parsed(readFileSync(join(dir, servedFile), "utf8"));
    return { providers: texts(providers), models: texts(models) };
  } catch {
    return null;
  }
}

function parsed(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  return isObject(value) ? value : {};
}

function texts(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
}
