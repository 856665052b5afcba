import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An empty folder in the run's scratch folder, which is removed when the run ends. */
export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), "sluice-test-"));
}
