import { join } from "node:path";

/** Next to the ledger, and not part of its backups. */
export function contentFile(dir: string): string {
  return join(dir, "content.db");
}
