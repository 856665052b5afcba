import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../../support/new-folder.ts";

export interface TemporaryFile extends Disposable {
  readonly folder: string;
  readonly path: string;
}

export function withFile(name: string, text: string): TemporaryFile {
  const folder = newFolder();
  const path = join(folder, name);
  writeFileSync(path, text);
  return { folder, path, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
