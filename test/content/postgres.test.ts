import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import type { ContentDocument } from "../../src/content/document.ts";
import { openContentStore } from "../../src/store/open-content.ts";
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
else {
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
    expect((await show()).stderr).toContain("a different key");
    await sluice.restart({ env: { CONTENT_KEY: key(2) } });
    const later = await say("said later");
    const rows = async () => Number((await sql`SELECT count(*) AS rows FROM content`)[0].rows);
    await waitFor(async () => (await rows()) === 2, "it to be written");
    expect(await sluice.cliJson("content", "delete", id, later, "--yes")).toEqual({ deleted: 2 });
    expect(await rows()).toBe(0);
    await sql.close();
  }, 60_000);

  test("what is deleted is gone from the files of the database", async () => {
    await using database = await migratedDatabase();
    await using sluice = await startSluice({
      config: config.replace(/^key = .*$/m, ""),
      env: { SLUICE_STORE: database.url },
    });
    const caller = await sluice.createKey();
    const say = async (content: string) => {
      const body = { model: "demo", messages: [{ role: "user", content }] };
      const response = await sluice.request("/v1/chat/completions", { key: caller, body });
      await response.text();
      return response.headers.get("x-request-id") ?? "";
    };
    await say("stays with us");
    const id = await say("canary-of-the-deleted");
    await say("stays as well");
    const sql = new SQL(database.url);
    const rows = async () => Number((await sql`SELECT count(*) AS rows FROM content`)[0].rows);
    await waitFor(async () => (await rows()) === 3, "all to be written");
    const [{ dir }] = await sql`
      SELECT current_setting('data_directory') || '/base/' || oid AS dir FROM pg_database WHERE datname = current_database()`;
    const filesWith = async (text: string) => {
      await sql`CHECKPOINT`;
      return readdirSync(dir)
        .map((name) => join(dir, name))
        .filter((file) => holds(file, text));
    };
    expect((await filesWith("canary-of-the-deleted")).length).toBeGreaterThan(0);
    expect(await sluice.cliJson("content", "delete", id, "--yes")).toEqual({ deleted: 1 });
    await waitFor(
      async () => (await filesWith("canary-of-the-deleted")).length === 0,
      "its bytes to be gone",
    );
    expect((await filesWith("stays with us")).length).toBeGreaterThan(0);
    expect(await sluice.cliJson("store", "size")).toMatchObject({ content: { requests: 2, days: 7 } });
    await sql.close();
  }, 60_000);

  test("several nodes write to the same days, and look after retention together", async () => {
    await using database = await migratedDatabase();
    const location = { url: database.url, password: null, prepare: true };
    const nodes = [await openContentStore(location), await openContentStore(location)] as const;
    const [one, other] = nodes;
    const day = 86_400_000;
    const today = Math.floor(Date.now() / day) * day;
    const rowsOf = (age: number) =>
      Array.from({ length: 5 }, (_, no) => ({
        id: `req_${crypto.randomUUID().replaceAll("-", "")}`,
        atMs: today - age * day + no,
        keyId: "key_a",
        owner: null,
        model: "m",
        outcome: "completed",
        body: Buffer.from("said"),
      }));
    const days = async () =>
      (await one.list({ limit: 100 })).map(({ atMs }) => Math.floor((today - atMs) / day) + 0);
    // Both find that the partitions are missing.
    await Promise.all(nodes.map((node) => node.write([...rowsOf(0), ...rowsOf(3), ...rowsOf(9)])));
    expect((await one.sizes()).rows).toBe(30);
    const limits = { beforeMs: today - 7 * day, maxBytes: 1e9 };
    await Promise.all(nodes.map((node) => node.prune(limits)));
    expect((await one.sizes()).rows).toBe(20);
    expect(new Set(await days())).not.toContain(9);
    // A node whose partition another one has dropped creates it again, and loses nothing.
    await one.prune({ beforeMs: today - 2 * day, maxBytes: 1e9 });
    await other.write(rowsOf(3));
    expect((await other.sizes()).rows).toBe(15);
    const left = async () => (await one.sizes()).rows;
    await Promise.all(nodes.map((node) => node.prune({ beforeMs: 0, maxBytes: 1 })));
    expect(await left()).toBe(0);
    for (const node of nodes) await node.close();
  }, 60_000);
}

/** Other tests drop databases of the same server meanwhile, so a file may be gone. */
function holds(file: string, text: string): boolean {
  try {
    return statSync(file).isFile() && readFileSync(file).includes(text);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}
