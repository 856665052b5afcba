import { expect, test } from "bun:test";
import { SQL } from "bun";
import type { ContentDocument } from "../../src/content/document.ts";
import { migratedDatabase } from "../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const config = `
[providers.demo]
kind = "demo"
[[models]]
id = "demo"
provider = "demo"
free = true
[content]
key = "env:CONTENT_KEY"
`;

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test("on PostgreSQL content is in a partition for its day, and read, rekeyed and deleted as in a folder", async () => {
    await using database = await migratedDatabase();
    const key = (byte: number) => Buffer.alloc(32, byte).toString("base64");
    const env = { SLUICE_STORE: database.url, CONTENT_KEY: key(1), NEW_CONTENT_KEY: key(2) };
    await using sluice = await startSluice({ config, env });
    const caller = await sluice.createKey();
    const say = async (content: string, as: TestKey = caller) => {
      const body = { model: "demo", messages: [{ role: "user", content }] };
      const response = await sluice.request("/v1/chat/completions", { key: as, body });
      await response.text();
      return response.headers.get("x-request-id") ?? "";
    };
    const id = await say("canary of PostgreSQL");
    const show = () => sluice.cli("requests", "show", id, "--content");
    await waitFor(async () => (await show()).code === 0, "it to be written");
    expect((JSON.parse((await show()).stdout) as ContentDocument).request).toMatchObject({
      messages: [{ content: "canary of PostgreSQL" }],
    });
    const sql = new SQL(database.url);
    const today = new Date().toISOString().slice(0, 10).replaceAll("-", "");
    const stored = await sql`SELECT tableoid::regclass::text AS partition, body FROM content`;
    expect(stored[0].partition).toBe(`content_${today}`);
    expect(Buffer.from(stored[0].body).includes("canary")).toBe(false);
    const rekey = () => sluice.cli("content", "rekey", "--new-key", "env:NEW_CONTENT_KEY", "--yes");
    expect(await rekey()).toMatchObject({ code: 1, stderr: expect.stringContaining("stop it first") });
    await sluice.stop();
    expect((await rekey()).code).toBe(0);
    expect((await show()).stderr).toContain("another key");
    await sluice.restart({ env: { CONTENT_KEY: key(2) } });
    const later = await say("said later");
    const rows = async () => Number((await sql`SELECT count(*) AS rows FROM content`)[0].rows);
    await waitFor(async () => (await rows()) === 2, "it to be written");
    expect(await sluice.cliJson("content", "delete", id, later, "--yes")).toEqual({ deleted: 2 });
    expect(await rows()).toBe(0);
    await sql.close();
  }, 60_000);
