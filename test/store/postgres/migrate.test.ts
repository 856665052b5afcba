import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { audit } from "../../../src/ledger/audit.ts";
import { openStore } from "../../../src/store/open.ts";
import { checkDatabase } from "../../../src/store/postgres/check.ts";
import type { PostgresClient } from "../../../src/store/postgres/client.ts";
import { migrate, migrations, readSchema } from "../../../src/store/postgres/migrate.ts";
import { StoreError } from "../../../src/store/store.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { keyRecord } from "../fixtures.ts";
import { clientOf, emptyDatabase, migratedDatabase, type PostgresDatabase } from "./fixtures.ts";

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
      expect(await readSchema(client.query, "db")).toMatchObject({ version: 0, needs: 0 });
      await client.close();
    });

    test("leave another program's database alone", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url);
      await client.query("CREATE TABLE invoices (id int)");
      await expect(migrate(client)).rejects.toThrow("has tables of other programs");
      await client.close();
    });

    test("refuse a database that an earlier build has made, and say what to do", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url);
      await client.query("CREATE TABLE schema_migrations (version int PRIMARY KEY, needs int NOT NULL)");
      await client.query("INSERT INTO schema_migrations VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)");
      await expectOtherSchema(database, client);
      expect(await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).toEqual([
        { tablename: "schema_migrations" },
      ]);
      await client.close();
    });

    test("refuse a database that was made by another text of the same migration, but not for a comment", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url);
      await migrate(
        client,
        migrations.map((text) => `-- Another comment.\n${text}\n`),
      );
      expect(await migrate(client)).toMatchObject({ version: migrations.length, needs: 0 });
      await client.query("UPDATE schema_steps SET fingerprint = 'of another text'");
      await expectOtherSchema(database, client);
      await client.close();
    });

    test("keep an alert acknowledged that has another name now, and not the new one of its name", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url);
      await migrate(client, migrations.slice(0, 4));
      await client.query("INSERT INTO acknowledged_alerts VALUES ('model_unavailable', 'ada', 9)");
      const alert = '{"kind":"model_unavailable","text":"Model m is not served."}';
      await client.query("INSERT INTO findings VALUES ('gw_1', $1, 9)", [`[${alert}]`]);
      await client.query("INSERT INTO past_alerts (id, alert, began_at_ms) VALUES ($1, $2, 1)", [
        "model_unavailable model m ",
        alert,
      ]);
      await migrate(client);
      const found = await client.query(
        "SELECT kind, findings, id, alert FROM acknowledged_alerts, findings, past_alerts",
      );
      const renamed = alert.replace("model_unavailable", "model_skipped");
      const [kind, id] = ["model_skipped", "model_skipped model m "];
      expect(found).toEqual([{ kind, findings: `[${renamed}]`, id, alert: renamed }]);
      await client.close();
    });

    test("of a later release do not stop this one, unless they say so", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url);
      const next = migrations.length + 1;
      await migrate(client, [...migrations, "CREATE TABLE later (id int)"]);
      expect(await migrate(client)).toMatchObject({ version: next, needs: 0 });
      const incompatible = `-- needs: ${next + 1}\nDROP TABLE later`;
      await migrate(client, [...migrations, "CREATE TABLE later (id int)", incompatible]);
      await expect(migrate(client)).rejects.toThrow(`this one has ${migrations.length}`);
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
      expect(await summarizeUsage(running, { by: "key", sinceMs: 0 })).toEqual([]);
      expect((await audit(running)).differences).toEqual([]);
      const again = await openStore({ location, clock: systemClock, role: "operator" });
      expect((await again.listKeys({ limit: 5 })).keys).toHaveLength(2);
      for (const each of [running, again, client]) await each.close();
    });
  });

async function expectOtherSchema({ url }: PostgresDatabase, client: PostgresClient): Promise<void> {
  const location = { url, password: null, prepare: true };
  const attempts = [
    () => migrate(client),
    () => openStore({ location, clock: systemClock, role: "gateway" }),
    () => openStore({ location, clock: systemClock, role: "operator" }),
    () => checkDatabase(location, { migrates: false }),
  ];
  for (const attempt of attempts) {
    const refusal = await attempt().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StoreError);
    expect(refusal).toMatchObject({
      reason: "other_schema",
      message: expect.stringMatching(
        /schema of a different build.*`sluice store export FILE` with that build.*an empty one/,
      ),
    });
  }
}
