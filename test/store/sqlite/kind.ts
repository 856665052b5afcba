import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { openStore } from "../../../src/store/open.ts";
import { type SettleItem, temporaryFolder } from "../fixtures.ts";
import type { JournaledDatabase, StoreKind } from "../kind.ts";
import { putEmptyLedger } from "./empty-ledger.ts";
import { openGatewayStore } from "./fixtures.ts";

/** An fsync in memory is free, and the ledger cannot tell. */
const memoryFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

interface SqliteDatabase extends JournaledDatabase {
  readonly dir: string;
}

export const sqlite = {
  name: "SQLite",
  async create({ isVolatile } = { isVolatile: false }): Promise<SqliteDatabase> {
    const folder = temporaryFolder(isVolatile ? memoryFolder : tmpdir());
    putEmptyLedger(folder.dir);
    return {
      dir: folder.dir,
      location: { dir: folder.dir },
      openGateway: async (clock, wrapWriter) => {
        const store = await openGatewayStore(folder.dir, clock, wrapWriter);
        return Object.assign(store, { charge: (items: readonly SettleItem[]) => store.commit(items) });
      },
      openOperator: (clock) => openStore({ dir: folder.dir, clock, role: "operator" }),
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    };
  },
} satisfies StoreKind<SqliteDatabase>;
