import { describe, expect, test } from "bun:test";
import { migrate, migrations, readSchema } from "../../../src/store/postgres/migrate.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { clientOf, emptyDatabase } from "./fixtures.ts";

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
  });
