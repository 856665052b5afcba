import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { whyUnreadable, whyUnwritable } from "../base/files/problem.ts";
import { systemCode } from "../base/system/system-code.ts";
import { CommandError, type Terminal } from "./terminal/terminal.ts";

/** The text of a file named as an argument; `-` is standard input. */
export async function readInput(file: string, { cwd }: Terminal): Promise<string> {
  if (file === "-") return Bun.stdin.text();
  try {
    return await Bun.file(resolve(cwd, file)).text();
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${whyUnreadable(error)}`);
  }
}

/** Writes a new file and returns its path; returns null if none was named. */
export function writeResult(text: string, file: string | undefined, terminal: Terminal): string | null {
  return file === undefined ? null : writeNewFile(text, file, terminal);
}

/** Returns the file's path. An existing file is never overwritten. */
export function writeNewFile(text: string, file: string, { cwd }: Terminal): string {
  const path = resolve(cwd, file);
  try {
    writeFileSync(path, text, { flag: "wx" });
    return path;
  } catch (error) {
    if (systemCode(error) === "EEXIST")
      throw new CommandError(`${path} already exists; move it away, or pass a different file`);
    throw new CommandError(`${path} cannot be written: ${whyUnwritable(error)}`);
  }
}
