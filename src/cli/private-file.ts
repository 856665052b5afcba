import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { whyUnreadable, whyUnwritable } from "../base/files/problem.ts";
import { tryParse } from "../base/json.ts";
import type { Environment } from "../base/system/environment.ts";
import { systemCode } from "../base/system/system-code.ts";
import { replaceFile } from "./serve/files-for-commands.ts";
import { CommandError } from "./terminal/terminal.ts";

/** A file of this user's settings. */
export function settingsFile(env: Environment, ...names: readonly string[]): string {
  return join(env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config"), "sluice", ...names);
}

/** Null if there is no file. `advice` says what to do with one that is damaged. */
export function readPrivateFile<Shape>(
  file: string,
  isShape: (value: unknown) => value is Shape,
  advice: string,
): Shape | null {
  try {
    const value = tryParse(readFileSync(file, "utf8"));
    if (isShape(value)) return value;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw new CommandError(`${file} cannot be read: ${whyUnreadable(error)}`);
  }
  throw new CommandError(`${file} is damaged; delete it, and ${advice}`);
}

/** Only this user can read the file: it has tokens. */
export function writePrivateFile(file: string, value: object): void {
  try {
    makePrivateFolder(file);
    replaceFile(file, JSON.stringify(value), 0o600);
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${whyUnwritable(error)}`);
  }
}

/** The folder of a file. */
export function makePrivateFolder(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
}
