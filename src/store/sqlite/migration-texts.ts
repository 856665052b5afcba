import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Reads the folder of migrations. It is called as a macro, so that their texts are part of the program. */
export function migrationTexts(): string[] {
  const folder = join(import.meta.dir, "migrations");
  const files = readdirSync(folder).toSorted();
  return files.map((name) => readFileSync(join(folder, name), "utf8"));
}
