import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { openStore } from "../../../src/store/open.ts";
import { temporaryFolder } from "../fixtures.ts";
import type { StoreKind, TestDatabase } from "../kind.ts";
import { openGatewayStore } from "./fixtures.ts";

/** An fsync in memory is free, and the ledger cannot tell. */
const memoryFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

interface SqliteDatabase extends TestDatabase {
  readonly dir: string;
}

export const sqlite = {
  name: "SQLite",
  async create({ isVolatile } = { isVolatile: false }): Promise<SqliteDatabase> {
    const folder = temporaryFolder(isVolatile ? memoryFolder : tmpdir());
    return {
      dir: folder.dir,
      openGateway: (clock, wrapWriter) => openGatewayStore(folder.dir, clock, wrapWriter),
      openOperator: (clock) => openStore({ dir: folder.dir, clock, role: "operator" }),
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    };
  },
} satisfies StoreKind;
