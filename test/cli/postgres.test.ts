import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { outcomeRecordOf, settleItem } from "../store/fixtures.ts";
import { emptyDatabase, type PostgresDatabase, runIn } from "../store/postgres/fixtures.ts";
import { hasPostgres, PostgresServer, withoutPostgres } from "../support/postgres.ts";
import { type KeyJson, newPlace, type Place, sluice, sluiceJson } from "./fixtures.ts";

/** A folder as a gateway leaves it: keys, charges, and an exchange that failed. */
async function filledFolder(): Promise<Place> {
  const place = newPlace();
  const key = await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "credit", "--credit", "5");
  const dir = join(place.folder, "sluice-data");
  const store = await openStore({ dir, clock: systemClock, role: "gateway" });
  await store.commit(Array.from({ length: 5 }, (_, index) => settleItem(key.id, index + 1)));
  await store.recordOutcomes([
    outcomeRecordOf(key.id, { outcome: "failed", status: 502, code: "upstream_error" }),
  ]);
  await store.close();
  return place;
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else {
  let database: PostgresDatabase;
  let place: Place;
  beforeAll(async () => {
    database = await emptyDatabase();
    place = newPlace({ env: { SLUICE_STORE: database.url } });
  });
  afterAll(() => database[Symbol.asyncDispose]());

  describe("on PostgreSQL", () => {
    test("a database without a schema is refused, and prepared by `store check --migrate`", async () => {
      const early = await sluice(place, "keys", "list");
      expect(early).toMatchObject({ code: 1, stdout: "" });
      expect(early.stderr).toContain("is empty");
      const empty = await sluice(place, "store", "check", "--json");
      expect(empty.code).toBe(1);
      expect(JSON.parse(empty.stdout)).toMatchObject({
        schema: { version: 0, up_to_date: false },
        nodes: [],
      });
      const checked = await sluiceJson<object>(place, "store", "check", "--migrate");
      expect(checked).toMatchObject({ schema: { up_to_date: true }, nodes: [], encrypted: false });
      const text = await sluice(place, "store", "check");
      expect(text.code).toBe(0);
      expect(text.stdout).toContain("up to date");
    });

    test("models list --store shows a file with the prices that the database has", async () => {
      const file = join(place.folder, "openai.toml");
      writeFileSync(file, '[providers.openai]\nkind = "openai"\napi_key = "env:KEY"\nmodels = ["gpt-4o"]\n');
      const prices = join(place.folder, "prices.toml");
      writeFileSync(
        prices,
        '[[models]]\nid = "gpt-4o"\nprovider = "openai"\nprice = { input = 3, output = 11 }\n',
      );
      const at: Place = { ...place, env: { KEY: "sk-test" } };
      const store = ["--store", database.url, "--config", file];
      expect((await sluice(at, "models", "update", "--from", prices, "--yes", ...store)).code).toBe(0);
      const [model] = await sluiceJson<{ price: object }[]>(at, "models", "list", ...store);
      expect(model?.price).toMatchObject({ input: 3, output: 11 });
      const [shipped] = await sluiceJson<{ price: object }[]>(at, "models", "list", "--config", file);
      expect(shipped?.price).toMatchObject({ input: 2.5, output: 10 });
    });

    test("keys are made, changed and listed as in a folder", async () => {
      const run = <Shape = KeyJson>(...words: string[]) => sluiceJson<Shape>(place, "keys", ...words);
      const made = await run<KeyJson & { store: string }>("create", "--mode", "credit", "--credit", "5");
      expect(made.store).toBe(`127.0.0.1:${database.server.port}/${database.name}`);
      expect(made.data_folder).toBeUndefined();
      const { id, prefix } = made;
      const topUp = ["topup", prefix, "2.5", "--reference", "order"];
      expect(await run(...topUp)).toMatchObject({ credit: { balance: 7.5 }, repeated: false });
      expect(await run(...topUp)).toMatchObject({ credit: { balance: 7.5 }, repeated: true });
      expect(await run("adjust", id, "-0.5", "--note", "sorry")).toMatchObject({ credit: { balance: 7 } });
      expect(await run("update", id, "--label", "Ada", "--rpm", "9")).toMatchObject({
        label: "Ada",
        rpm_limit: 9,
      });
      expect(await run("disable", id)).toMatchObject({ status: "disabled", changed: true });
      expect(await run("enable", id)).toMatchObject({ status: "active" });
      const rotated = await run("rotate", id, "--grace", "1h", "--yes");
      expect(rotated.key).not.toBe(made.key);
      expect(await run("revoke", id, "--yes")).toMatchObject({ status: "revoked" });
      const budget = ["create", "--mode", "token_budget", "--budget", "1000", "--period", "day"];
      expect(await run(...budget)).toMatchObject({
        budget: { tokens: 1_000, period: "day", remaining: 1_000 },
      });
      const listed = await run<KeyJson[]>("list");
      expect(listed.map((key) => key.status)).toEqual(["revoked", "active"]);
      expect(await run("show", id)).toMatchObject({ id, label: "Ada" });
      const said = await sluice(place, "keys", "topup", listed[1]?.id ?? "", "1");
      expect(said.stderr).toContain("is a token-budget key");
    });

    test("backup and restore name the database's own means, and exit with 1", async () => {
      for (const words of [
        ["backup", "copy.db"],
        ["restore", "copy.db", "--yes"],
      ]) {
        const said = await sluice(place, ...words);
        expect(said).toMatchObject({ code: 1, stdout: "" });
        expect(said.stderr).toMatch(/pg_dump|pg_restore/);
      }
    });

    test("a copy there and back gives the same audit, usage and exchanges", async () => {
      const folder = await filledFolder();
      await using other = await emptyDatabase();
      const [dir, back] = [join(folder.folder, "sluice-data"), join(folder.folder, "back")];
      const counts = { keys: 1, entries: 6, usage: 5, audit: "clean" };
      expect(await sluiceJson<object>(folder, "store", "copy", "--from", dir, "--to", other.url)).toEqual(
        counts,
      );
      const moved = await sluice(folder, "keys", "list", "--data", dir);
      expect(moved.code).toBe(1);
      expect(moved.stderr).toContain(`was moved to 127.0.0.1`);
      const unasked = await sluice(folder, "store", "reopen", "--at", dir);
      expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
      await sluiceJson<object>(folder, "store", "reopen", "--at", dir, "--yes");
      const nothing = await sluice(folder, "store", "reopen", "--at", dir, "--yes");
      expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining("was not moved") });
      const andBack = ["store", "copy", "--from", other.url, "--to", "back", "--keep"];
      expect(await sluiceJson<object>(folder, ...andBack)).toEqual(counts);
      const again = await sluice(folder, "store", "copy", "--from", dir, "--to", other.url);
      expect(again).toMatchObject({ code: 1, stdout: "" });
      expect(again.stderr).toContain("already has data");
      // An end of its own, which the reply names: a minute may pass between the three.
      const range = ["--since", "2026-11", "--until", "2026-12"];
      const commands = [
        ["ledger", "audit"],
        ["ledger", "export"],
        ["usage", "--by", "model", ...range],
        ["usage", "--by", "day", ...range],
        ["usage", "--by", "key", ...range],
        ["requests", "list", "--since", "3650d"],
        ["keys", "list"],
      ];
      for (const words of commands) {
        const answers = [];
        for (const where of [
          ["--data", dir],
          ["--store", other.url],
          ["--data", back],
        ]) {
          const { code, stdout } = await sluice(folder, ...words, ...where, "--json");
          answers.push({ words, code, stdout });
        }
        expect(answers[1]).toEqual(answers[0] as (typeof answers)[0]);
        expect(answers[2]).toEqual(answers[0] as (typeof answers)[0]);
        expect(answers[0]?.code).toBe(0);
      }
      const listing = ["requests", "list", "--since", "3650d", "--data", dir];
      const [exchange] = await sluiceJson<{ id: string }[]>(folder, ...listing);
      const shown = await sluice(folder, "requests", "show", exchange?.id ?? "", "--store", other.url);
      expect(shown.code).toBe(0);
    }, 60_000);

    test("a ledger that does not add up is told", async () => {
      await using wrong = await emptyDatabase();
      const there = { ...place, env: { SLUICE_STORE: wrong.url } };
      await sluiceJson(there, "store", "check", "--migrate");
      await sluiceJson(there, "keys", "create", "--mode", "credit", "--credit", "1");
      expect((await sluice(there, "ledger", "audit")).code).toBe(0);
      await runIn(wrong, "UPDATE accounts SET posted = posted + 1, purchased = purchased + 1");
      const said = await sluice(there, "ledger", "audit");
      expect(said.code).toBe(1);
      expect(said.stdout).toContain("purchased");
      await runIn(wrong, "UPDATE accounts SET posted = posted - 1, purchased = purchased - 1, held = 3");
      const leaked = await sluice(there, "ledger", "audit", "--json");
      expect(JSON.parse(leaked.stdout).differences).toMatchObject([
        { field: "held", kept: 3, recomputed: 0 },
      ]);
    });
  });

  describe("a database that cannot be used", () => {
    const secret = "hunter2-hunter2";

    test("is named with the reason, and no secret is repeated", async () => {
      using server = new PostgresServer({ authentication: ["host all all 127.0.0.1/32 scram-sha-256"] });
      const url = (port: number, name = "postgres") =>
        `postgres://sluice:${secret}@127.0.0.1:${port}/${name}`;
      const cases = [
        { store: url(server.port), said: "password" },
        { store: url(1), said: "is unavailable" },
        { store: `${url(server.port)}?sslmode=require`, said: "is unavailable" },
        {
          store: `postgres://sluice:${secret}@127.0.0.1:${server.port}/a?target=x`,
          said: "parameter target is not supported",
        },
      ];
      for (const { store, said } of cases) {
        const answer = await sluice(newPlace({ env: { SLUICE_STORE: store } }), "keys", "list");
        expect(answer).toMatchObject({ code: 1, stdout: "" });
        expect(answer.stderr).toContain(said);
        expect(answer.stderr).not.toContain(secret);
        expect(answer.stderr.trim().split("\n")).toHaveLength(1);
      }
    });
  });
}
