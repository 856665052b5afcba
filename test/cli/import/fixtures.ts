import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryFile extends Disposable {
  readonly folder: string;
  readonly path: string;
}

export function withFile(name: string, text: string): TemporaryFile {
  const folder = mkdtempSync(join(tmpdir(), "sluice-import-"));
  const path = join(folder, name);
  writeFileSync(path, text);
  return { folder, path, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
