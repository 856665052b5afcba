import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type RunningGateway, startGateway } from "../../src/app/start.ts";
import { loadSettings } from "../../src/config/load.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { emptyDatabase, type PostgresDatabase } from "../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";

interface Made {
  readonly id: string;
  readonly key: string;
}

/** Two gateways of this process on one database, each with a data folder of its own. */
async function startTwo(url: string, dir: string): Promise<RunningGateway[]> {
  const env = { SLUICE_STORE: url, SLUICE_LOG_LEVEL: "silent" };
  const starting = ["one", "other"].map((name) =>
    startGateway({
      settings: loadSettings({ env, cwd: dir, flags: { port: 0, data: join(dir, name) } }).settings,
    }),
  );
  return Promise.all(starting);
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("two gateways of one database", () => {
    const folder = temporaryFolder();
    let database: PostgresDatabase;
    let gateways: RunningGateway[];
    let token: string;
    const at = (gateway: number, path: string, init: RequestInit = {}) =>
      fetch(`${gateways[gateway]?.url}${path}`, init);
    const api = (gateway: number, path: string, init: RequestInit = {}) =>
      at(gateway, `/admin/api/v1${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, ...init.headers },
      });
    const posting = (body: object) => ({
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });

    beforeAll(async () => {
      database = await emptyDatabase();
      gateways = await startTwo(database.url, folder.dir);
      token = gateways.map((running) => running.generatedAdminToken).find((made) => made !== null) ?? "";
    });
    afterAll(async () => {
      for (const running of gateways) expect(await running.stop()).toEqual([]);
      await database[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    });

    test("make one admin token between them, which both take", async () => {
      expect(gateways.filter((running) => running.generatedAdminToken !== null)).toHaveLength(1);
      for (const gateway of [0, 1]) expect((await api(gateway, "/health")).status).toBe(200);
    });

    test("leave nothing in their folders that other users could read", () => {
      for (const name of ["one", "other"]) {
        const files = readdirSync(join(folder.dir, name));
        expect(files.length).toBeGreaterThan(0);
        for (const file of files) expect(statSync(join(folder.dir, name, file)).mode & 0o077).toBe(0);
      }
    });

    test("create one key for the playground of an account, however many open it at once", async () => {
      const made = await api(0, "/accounts", posting({ mode: "credit", label: "Research" }));
      expect(made.status).toBe(200);
      const opened = await Promise.all(
        Array.from({ length: 8 }, (_, n) => api(n % 2, "/playground/keys", posting({ account: "Research" }))),
      );
      expect(opened.map(({ status }) => status)).toEqual(new Array(8).fill(200));
      const ids = await Promise.all(
        opened.map(async (each) => ((await each.json()) as { key_id: string }).key_id),
      );
      expect(new Set(ids).size).toBe(1);
    });

    test("know each other's sessions until they end", async () => {
      const signedIn = await at(0, "/admin/api/v1/session", posting({ token }));
      expect(signedIn.status).toBe(204);
      const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
      const asked = () => at(1, "/admin/api/v1/keys", { headers: { cookie } });
      expect((await asked()).status).toBe(200);
      expect((await at(0, "/admin/api/v1/session", { method: "DELETE", headers: { cookie } })).status).toBe(
        200,
      );
      expect((await asked()).status).toBe(401);
    });

    test("give a label once, however many ask for it at the same time", async () => {
      const asked = { "/accounts": { mode: "credit", label: "one" }, "/admin-tokens": { label: "one" } };
      for (const [path, body] of Object.entries(asked)) {
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, place) => api(place % 2, path, posting(body))),
        );
        expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)]);
      }
    });

    test("show the same figures on every page, whichever was asked for the work", async () => {
      const made = (await (await api(0, "/keys", posting({ mode: "credit", credit: 5 }))).json()) as Made;
      const chat = posting({ model: "demo-small", messages: [{ role: "user", content: "Hello" }] });
      const headers = { ...chat.headers, authorization: `Bearer ${made.key}` };
      const answers = [
        // The key was made at the first one: the other sees it within a second.
        await at(0, "/v1/chat/completions", { ...chat, headers }),
        await eventually(() => at(1, "/v1/chat/completions", { ...chat, headers })),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      const refused = { ...chat, headers, body: JSON.stringify({ model: "nobody", messages: [] }) };
      expect((await at(1, "/v1/chat/completions", refused)).ok).toBe(false);
      await eventually(async () => {
        const { data } = (await (await api(0, "/requests")).json()) as { data: readonly unknown[] };
        return new Response(null, { status: data.length === 3 ? 200 : 404 });
      });
      const id = answers[1]?.headers.get("x-request-id") ?? "";
      const pages = [
        "/keys",
        `/keys/${made.id}`,
        "/usage?by=model",
        "/usage?by=key",
        "/usage?by=day",
        "/requests",
        `/requests/${id}`,
        "/entries",
        "/models",
        "/audit",
        "/nodes",
      ];
      for (const page of pages) {
        const shown = [await api(0, page), await api(1, page)];
        expect({ page, status: shown.map(({ status }) => status) }).toEqual({ page, status: [200, 200] });
        // Only the gateway that served a request knows how long its charge took.
        const same = async (response: Response | undefined) => ({
          ...((await response?.json()) as object),
          settle_ms: 0,
        });
        const [one, other] = [await same(shown[0]), await same(shown[1])];
        if (page !== "/nodes" && page !== "/models") expect({ page, other }).toEqual({ page, other: one });
      }
      for (const page of ["/overview", "/health", "/config"]) expect((await api(1, page)).status).toBe(200);
      expect((await at(1, "/metrics", { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
    });
  });

/** Until the answer is good, for at most some seconds. */
async function eventually(ask: () => Promise<Response>): Promise<Response> {
  const giveUpAtMs = performance.now() + 15_000;
  for (;;) {
    const answer = await ask();
    if (answer.ok || performance.now() > giveUpAtMs) return answer;
    await Bun.sleep(20);
  }
}
