import { restoreDatabase } from "../../../src/store/sqlite/files/restore.ts";

/** Restores a copy into a data folder. The test that starts it kills it on the way. */
const [dir = "", from = ""] = process.argv.slice(2);
await restoreDatabase({ dir, from, nowMs: Date.UTC(2026, 10, 15) });
