import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { audit } from "../../../src/ledger/audit.ts";
import { openStore } from "../../../src/store/open.ts";
import { migrate, migrations, readSchema } from "../../../src/store/postgres/migrate.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { keyRecord } from "../fixtures.ts";
import { clientOf, emptyDatabase, migratedDatabase } from "./fixtures.ts";

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("migrations", () => {
    test("run once, whoever comes first", async () => {
      await using database = await emptyDatabase();
      const clients = Array.from({ length: 4 }, () => clientOf(database.url));
      const states = await Promise.all(clients.map((client) => migrate(client)));
      expect(states.map(({ version }) => version)).toEqual(clients.map(() => migrations.length));
      for (const client of clients) await client.close();
    });

    test("all happen, or none", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url);
      const broken = [...migrations, "CREATE TABLE later (id int); SELECT nothing FROM nowhere"];
      await expect(migrate(client, broken)).rejects.toThrow("nowhere");
      expect(await readSchema(client.query)).toEqual({ version: 0, needs: 0 });
      await client.close();
    });

    test("leave another program's database alone", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url);
      await client.query("CREATE TABLE invoices (id int)");
      await expect(migrate(client)).rejects.toThrow("has tables, but not Sluice's");
      await client.close();
    });

    test("of a later release do not stop this one, unless they say so", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url);
      const next = migrations.length + 1;
      await migrate(client, [...migrations, "CREATE TABLE later (id int)"]);
      expect(await migrate(client)).toEqual({ version: next, needs: 0 });
      const incompatible = `-- needs: ${next + 1}\nDROP TABLE later`;
      await migrate(client, [...migrations, "CREATE TABLE later (id int)", incompatible]);
      await expect(migrate(client)).rejects.toThrow(`this one knows ${migrations.length}`);
      await client.close();
    });

    test("of a later release may run while this one is at work", async () => {
      await using database = await migratedDatabase();
      const location = { url: database.url, password: null, prepare: true };
      const running = await openStore({ location, clock: systemClock, role: "gateway" });
      const [early, late] = [keyRecord(), keyRecord()];
      await running.insertKey(early, 5);
      const client = clientOf(database.url);
      const next = `ALTER TABLE keys ADD COLUMN team text;
        ALTER TABLE accounts ADD COLUMN credit_limit int8 NOT NULL DEFAULT 0;
        ALTER TABLE entries ADD COLUMN tags text`;
      await migrate(client, [...migrations, next]);
      await running.insertKey(late, 5);
      expect((await running.load()).keys.map(({ id }) => id)).toEqual([early.id, late.id]);
      expect(await running.summarizeUsage({ by: "key", sinceMs: 0 })).toEqual([]);
      expect((await audit(running)).differences).toEqual([]);
      const again = await openStore({ location, clock: systemClock, role: "operator" });
      expect((await again.listKeys({ limit: 5 })).keys).toHaveLength(2);
      for (const each of [running, again, client]) await each.close();
    });
  });
