import { afterAll, afterEach, beforeAll, describe } from "bun:test";
import { migratedDatabase } from "../store/postgres/fixtures.ts";
import { hasPostgres } from "../support/postgres.ts";
import { World } from "./world.ts";

/** Runs the tests with a counting gateway on SQLite, and again on PostgreSQL where it is installed. */
export function onBothStores(tail: string, define: (world: () => World) => void): void {
  const stores = hasPostgres ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const);
  describe.each(stores)("on %s", (store) => {
    let world: World;
    let database: (AsyncDisposable & { readonly url: string }) | undefined;
    beforeAll(async () => {
      if (store === "PostgreSQL") database = await migratedDatabase();
      const head = database === undefined ? "" : `[store]\nurl = "${database.url}"\n`;
      world = await World.startCounting({ head, tail });
    }, 120_000);
    afterEach(() => world.provider.reset());
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });
    define(() => world);
  });
}
