import { rmSync } from "node:fs";
import type { DataFolder } from "./folder.ts";

/** Deletes the totals for reports, for instance because another ledger takes the place of this one. They are computed again. */
export function removeReports({ reportsFile }: Pick<DataFolder, "reportsFile">): void {
  // The log first, so that no later file gets it.
  for (const suffix of ["-wal", "-shm", ""]) rmSync(reportsFile + suffix, { force: true });
}
