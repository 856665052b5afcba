import { restoreDatabase } from "../../../src/store/sqlite/files/restore.ts";

/** Restores a copy into a data folder, and is killed on the way by the test beside it. */
const [dir = "", from = ""] = process.argv.slice(2);
await restoreDatabase({ dir, from, nowMs: Date.UTC(2026, 10, 15) });
