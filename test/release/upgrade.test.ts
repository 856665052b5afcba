import { expect, test } from "bun:test";
import { chmodSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { knownSchemas } from "../../src/store/open.ts";
import { withPostgres } from "../cluster/nodes.ts";
import { newFolder } from "../support/new-folder.ts";
import { sharedPostgres } from "../support/postgres.ts";
import { run, target } from "../support/process.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const next = { BUN_OPTIONS: `--preload ${new URL("./next-schema.ts", import.meta.url).pathname}` };
const breaking = { ...next, SLUICE_TEST_RELEASE: "breaking" };

/** Starts the next release. It runs from source: only so can it know a schema that does not exist yet. */
function asNextRelease<Started>(start: () => Promise<Started>): Promise<Started> {
  const usual = target();
  process.env["SLUICE_TEST_TARGET"] = "source";
  try {
    return start();
  } finally {
    process.env["SLUICE_TEST_TARGET"] = usual;
  }
}

interface KeyUsage {
  readonly recorded_requests: number;
}

/** Only a running gateway knows what is reserved. */
const showKey = async (sluice: Sluice, { id }: TestKey) => ({
  ...(await sluice.cliJson<KeyUsage>("keys", "show", id)),
  reserved: null,
});

async function ask(sluice: Sluice, key: TestKey): Promise<boolean> {
  const body = { model: "demo-small", messages: [{ role: "user", content: "Hello" }], stream: true };
  const response = await sluice.request("/v1/chat/completions", { key, body });
  return response.status === 200 && (await response.text()).includes("[DONE]");
}

/** Clients that turn to the gateways one after the other, and try again where they get no answer. */
class Load {
  readonly #answered: Map<Sluice, number>;
  readonly #clients: readonly Promise<void>[];
  #isOver = false;

  constructor(gateways: readonly Sluice[], key: TestKey) {
    this.#answered = new Map(gateways.map((gateway) => [gateway, 0]));
    this.#clients = [0, 1, 2].map((client) => this.#run(gateways.slice(client).concat(gateways), key));
  }

  get answered(): number {
    return [...this.#answered.values()].reduce((sum, answers) => sum + answers, 0);
  }

  /** Waits until each of them has answered a few more times. */
  async isAnsweredBy(...gateways: readonly Sluice[]): Promise<void> {
    const before = new Map(this.#answered);
    const more = (gateway: Sluice) => (this.#answered.get(gateway) ?? 0) - (before.get(gateway) ?? 0);
    await waitFor(() => gateways.every((gateway) => more(gateway) >= 5), "answers of each gateway");
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #run(gateways: readonly Sluice[], key: TestKey): Promise<void> {
    while (!this.#isOver) {
      for (const gateway of gateways) {
        if (await ask(gateway, key).catch(() => false))
          this.#answered.set(gateway, (this.#answered.get(gateway) ?? 0) + 1);
        // Clients that never rest would take the machine from the gateways that start.
        await Bun.sleep(20);
      }
    }
  }
}

test("a folder is upgraded under load, the older program refuses it, and the copy from before leads back", async () => {
  await using sluice = await startSluice();
  const data = join(sluice.folder, "data");
  const key = await sluice.createKey({ credit: 1000 });
  const load = new Load([sluice], key);
  await load.isAnsweredBy(sluice);
  expect(await sluice.stop()).toBe(0);
  const before = await showKey(sluice, key);
  const exported = join(sluice.folder, "ledger.jsonl");
  expect((await sluice.run("store", "export", exported, "--keep")).code).toBe(0);
  await asNextRelease(() => sluice.restart({ env: next }));
  await load.isAnsweredBy(sluice);
  await load.stop();
  expect(await sluice.stop()).toBe(0);
  const env = { PATH: process.env["PATH"] ?? "", HOME: sluice.folder, SLUICE_DATA: data, ...next };
  const where = { cwd: sluice.folder, env };
  expect((await asNextRelease(() => run(["ledger", "audit"], where))).code).toBe(0);
  const show = ["keys", "show", key.id, "--json"];
  const { stdout } = await asNextRelease(() => run(show, where));
  expect(JSON.parse(stdout)).toMatchObject({ recorded_requests: load.answered });

  const imported = join(sluice.folder, "imported");
  const importing = await asNextRelease(() => run(["store", "import", exported, "--data", imported], where));
  expect(importing).toMatchObject({ code: 0, stderr: "" });
  const found = await asNextRelease(() => run([...show, "--data", imported], where));
  expect(JSON.parse(found.stdout)).toEqual(before);

  await expect(sluice.restart()).rejects.toThrow("was written by a newer Sluice");
  const [copy = ""] = readdirSync(join(data, "backups")).filter((name) => name.includes("before-schema-"));
  expect((await sluice.run("restore", join(data, "backups", copy), "--yes")).code).toBe(0);
  await sluice.restart();
  expect(await showKey(sluice, key)).toEqual(before);
  expect(await ask(sluice, key)).toBe(true);
  expect((await sluice.run("ledger", "audit")).code).toBe(0);
});

withPostgres(() => {
  test("two gateways are upgraded one after the other under load, and a dump from before leads back", async () => {
    const { postgres: schema } = await knownSchemas();
    const postgres = sharedPostgres();
    const database = await postgres.createDatabase();
    const url = postgres.url(database);
    const folder = newFolder();
    chmodSync(folder, 0o777);
    const dump = join(folder, "before-upgrade.dump");
    const env = { SLUICE_STORE: url, SLUICE_ADMIN_TOKEN: "slua_of-all-nodes" };
    await using one = await startSluice({ env });
    await using other = await startSluice({ env });
    const key = await one.createKey({ credit: 1000 });
    expect(await ask(one, key)).toBe(true);
    const before = await showKey(one, key);
    postgres.program("pg_dump", ["--format=custom", `--file=${dump}`, url]);

    const load = new Load([one, other], key);
    await load.isAnsweredBy(one, other);
    expect(await one.stop()).toBe(0);
    await load.isAnsweredBy(other);
    await asNextRelease(() => one.restart({ env: next }));
    // The older release runs alongside the newer one, on the newer one's schema.
    await load.isAnsweredBy(one, other);
    expect(await schemaOf(one)).toBe(schema + 1);
    expect((await other.run("ledger", "audit")).code).toBe(0);
    expect(await other.stop()).toBe(0);
    await load.isAnsweredBy(one);
    await asNextRelease(() => other.restart({ env: next }));
    await load.isAnsweredBy(one, other);
    // And back by one release, without a dump: its schema still suits the older program.
    expect(await one.stop()).toBe(0);
    await one.restart();
    await load.isAnsweredBy(one, other);
    await load.stop();
    expect(await showKey(one, key)).toMatchObject({
      recorded_requests: before.recorded_requests + load.answered,
    });

    for (const node of [one, other]) expect(await node.stop()).toBe(0);
    const data = join(one.folder, "copied");
    const where = { cwd: one.folder, env: { PATH: process.env["PATH"] ?? "", HOME: one.folder, ...next } };
    for (const command of [
      ["store", "copy", "--from", url, "--to", data, "--keep"],
      ["ledger", "audit", "--data", data],
    ])
      expect(await asNextRelease(() => run(command, where))).toMatchObject({ code: 0 });
    await asNextRelease(() => one.restart({ env: breaking }));
    expect(await ask(one, key)).toBe(true);
    await expect(other.restart()).rejects.toThrow("was upgraded by a newer Sluice");
    expect((await other.run("keys", "list")).stderr).toContain("Use that newer version");
    expect(await one.stop()).toBe(0);

    const server = ["--host=127.0.0.1", `--port=${postgres.port}`, "--username=sluice"];
    postgres.program("dropdb", [...server, database]);
    postgres.program("createdb", [...server, database]);
    postgres.program("pg_restore", ["--exit-on-error", "--no-owner", `--dbname=${url}`, dump]);
    for (const node of [one, other]) await node.restart();
    expect(await showKey(one, key)).toEqual(before);
    for (const node of [one, other]) expect(await ask(node, key)).toBe(true);
    expect(await schemaOf(one)).toBe(schema);
    expect((await one.run("ledger", "audit")).code).toBe(0);
    rmSync(folder, { recursive: true });
  }, 240_000);
});

async function schemaOf(sluice: Sluice): Promise<number> {
  const { schema } = await sluice.cliJson<{ schema: { version: number } }>("store", "check");
  return schema.version;
}
