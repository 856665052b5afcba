import { join } from "node:path";

/** Beside the ledger, and in no backup of it. */
export function contentFile(dir: string): string {
  return join(dir, "content.db");
}
