import { chmodSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { whyUnwritable } from "../base/files/problem.ts";
import { examineSettings, type LoadOptions } from "../config/load.ts";
import type { ModelConfig } from "../config/schema.ts";
import { tableText } from "./import/toml.ts";
import { CommandError } from "./terminal/terminal.ts";

/**
 * Appends entries, so that the file keeps its comments and order. The new text is checked first and replaces the file
 * by a rename, so an invalid configuration or a full disk changes nothing.
 */
export function appendModels(path: string, models: readonly ModelConfig[], options: LoadOptions): void {
  const file = realpathSync(path);
  const before = readFileSync(file, "utf8");
  const tables = models.map((model) => tableText("[[models]]", model));
  const gap = before === "" || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n";
  const written = `${file}.${process.pid}.new`;
  try {
    writeFileSync(written, `${before}${gap}${tables.join("\n")}`, { flag: "wx", mode: 0o600 });
    chmodSync(written, statSync(file).mode & 0o777);
    const [problem] = problemsIn(written, options);
    if (problem !== undefined)
      throw new CommandError(`${file} was not changed: with the new models it would not load (${problem})`);
    if (readFileSync(file, "utf8") !== before)
      throw new CommandError(`${file} was not changed: it was modified meanwhile; try again`);
    renameSync(written, file);
  } catch (error) {
    rmSync(written, { force: true });
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${file} cannot be written: ${whyUnwritable(error)}`);
  }
}

function problemsIn(file: string, options: LoadOptions): string[] {
  try {
    return examineSettings({ ...options, file }).problems.map(({ path, message }) => `${path}: ${message}`);
  } catch (error) {
    return [error instanceof Error ? (error.message.split("\n").at(-1)?.trim() ?? "") : String(error)];
  }
}
