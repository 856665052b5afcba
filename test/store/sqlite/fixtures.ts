import type { Clock } from "../../../src/base/clock.ts";
import { openUnlocked } from "../../../src/store/sqlite/open.ts";
import type { SqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import type { WrapWriter } from "../kind.ts";

/** A gateway's store without the folder's lock, so that a test can leave it behind as a crash would. */
export function openGatewayStore(dir: string, clock: Clock, wrapWriter?: WrapWriter): Promise<SqliteStore> {
  return openUnlocked({ dir, clock, role: "gateway", journal: "inline" }, () => {}, wrapWriter);
}
