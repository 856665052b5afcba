import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { configFor } from "../support/config.ts";
import { hasPostgres, PostgresServer, withoutPostgres } from "../support/postgres.ts";
import { startProvider } from "../support/provider.ts";
import { startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const path = "/v1/chat/completions";
const body = { model: "gpt-test", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };
const waitMs = 30_000;

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test("a database password that was rotated in its file is taken without a restart, and its lack is named", async () => {
    using postgres = new PostgresServer({
      authentication: [
        "host all sluice_app all scram-sha-256",
        "host all all all trust",
        "local all all trust",
      ],
    });
    const database = await postgres.createDatabase();
    await postgres.run(
      "CREATE ROLE sluice_app LOGIN PASSWORD 'the-first-password'",
      `ALTER DATABASE ${database} OWNER TO sluice_app`,
    );
    const file = join(postgres.dir, "password");
    writeFileSync(file, "the-first-password\n");
    const provider = startProvider();
    const head = `[store]\nurl = "${postgres.url(database, "sluice_app")}"\npassword = "file:${file}"`;
    const config = configFor({ url: provider.url, head });
    await using sluice = await startSluice({ config });
    const key = await sluice.createKey({ credit: 100 });
    const ask = async () => (await sluice.request(path, { key, body })).status;
    expect(await ask()).toBe(200);
    const rotate = async (password: string) =>
      postgres.run(
        `ALTER ROLE sluice_app PASSWORD '${password}'`,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'sluice_app'",
      );
    const readiness = async () => (await sluice.request("/readyz")).text();

    // The usual order: the file first, then the database.
    writeFileSync(file, "the-second-password\n");
    await rotate("the-second-password");
    await waitFor(async () => (await ask()) === 200, "requests with the second password", waitMs);

    // The file lags behind.
    await rotate("the-third-password");
    await waitFor(async () => (await readiness()).includes("authentication failed"), "the reason", waitMs);
    expect(await ask()).toBe(503);
    // A reload of other settings needs no database.
    await sluice.reload(`${config}\n[log]\nlevel = "debug"\n`);
    expect(sluice.output).not.toContain("store.password has changed");
    writeFileSync(file, "the-third-password\n");
    await waitFor(async () => (await readiness()).includes('"ready"'), "it to be ready", waitMs);
    expect(await ask()).toBe(200);
    const log = sluice.output;
    expect(log).toContain("authentication failed");
    for (const password of ["first", "second", "third"])
      expect(log).not.toContain(`the-${password}-password`);
    expect((await sluice.cli("ledger", "audit")).code).toBe(0);
    provider.stop();
  }, 120_000);
