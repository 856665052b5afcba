import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { EntryView, ExchangeDetailView } from "../../src/admin/requests/schema.ts";
import { clientOf, migratedDatabase } from "../store/postgres/fixtures.ts";
import { configFor } from "../support/config.ts";
import { hasPostgres } from "../support/postgres.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { ask, Traffic } from "./traffic.ts";

const token = "the-operators-token";
const headers = { authorization: `Bearer ${token}` };

const model = (price: string) => `
[[models]]
id = "house"
aliases = ["house-latest"]
provider = "openai"
context_window = 200000
max_output_tokens = 4096
price = ${price}
`;
const old = model("{ input = 5.0, output = 30.0 }");
const dearer = model("{ input = 6.0, output = 30.0, tiers = { flex = { input = 1.0, output = 2.0 } } }");

interface Place {
  readonly name: string;
  start(config: string): Promise<Sluice>;
  /** Whether what open streams have produced is journaled. */
  hasProgress(sluice: Sluice): Promise<boolean>;
  stop(): Promise<void>;
}

const sqlite: Place = {
  name: "SQLite",
  start: (config) => startSluice({ config, env: { SLUICE_ADMIN_TOKEN: token } }),
  hasProgress: async (sluice) => {
    using database = new Database(join(sluice.folder, "data", "sluice.db"), { readonly: true });
    return database.query("SELECT 1 FROM holds WHERE quantities IS NOT NULL").get() !== null;
  },
  stop: async () => {},
};

async function postgres(): Promise<Place> {
  const database = await migratedDatabase();
  const env = { SLUICE_ADMIN_TOKEN: token, SLUICE_STORE: database.url };
  return {
    name: "PostgreSQL",
    start: (config) => startSluice({ config, env }),
    hasProgress: async () => {
      const client = clientOf(database.url);
      const rows = await client.query("SELECT 1 FROM holds WHERE quantities IS NOT NULL");
      await client.close();
      return rows.length > 0;
    },
    stop: async () => database[Symbol.asyncDispose](),
  };
}

for (const place of [sqlite, ...(hasPostgres ? [await postgres()] : [])]) {
  describe(`a charge on ${place.name}`, () => {
    let provider: ScriptedProvider;
    let sluice: Sluice;
    let key: TestKey;
    let first: string;

    const config = (tail: string) => configFor({ url: provider.url, tail });
    const show = async (id: string) => (await sluice.cli("requests", "show", id)).stdout;
    const api = async <Shape>(path: string) =>
      (await (await sluice.request(`/admin/api/v1${path}`, { headers })).json()) as Shape;
    const audit = () => sluice.cli("ledger", "audit", "--deep");
    const lines = async (...flags: string[]) =>
      (await sluice.cli("ledger", "export", "--json", ...flags)).stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as EntryView);

    beforeAll(async () => {
      provider = startProvider();
      sluice = await place.start(config(old));
      key = await sluice.createKey({ label: "Ada" });
      const traffic = new Traffic(sluice, provider);
      first = (await traffic.call(key, { ...ask, model: "house-latest" })).id;
    }, 120_000);

    afterAll(async () => {
      await sluice.dispose();
      await place.stop();
      provider.stop();
    });

    test("is explained by its sum, and by the name that was asked for", async () => {
      const shown = await show(first);
      expect(shown).toContain("21 × 5.00/M + 9 × 30.00/M = 0.000375");
      expect(shown).toMatch(/model\s+house\n/);
      expect(shown).toMatch(/requested model\s+house-latest/);
      const { entries } = await api<ExchangeDetailView>(`/requests/${first}`);
      expect(entries).toMatchObject([
        {
          ...{ amount: -0.000375, credits: -0.000375, model: "house", requested_model: "house-latest" },
          rates: { input: 5, output: 30, usd_per_credit: 1 },
          quantities: { input: 21, output: 9 },
          calculation: "21 × 5.00/M + 9 × 30.00/M = 0.000375",
        },
      ]);
    });

    test("stays explained when a reload has changed the price, which the audit log has", async () => {
      const before = sluice.output.length;
      await sluice.reload(config(dearer));
      await waitFor(() => sluice.output.slice(before).includes("configuration is running"), "the reload");
      const { id } = await new Traffic(sluice, provider).call(key, { ...ask, model: "house" });
      expect(await show(id)).toContain("21 × 6.00/M + 9 × 30.00/M = 0.000396");
      expect(await show(id)).not.toContain("asked for");
      expect(await show(first)).toContain("21 × 5.00/M + 9 × 30.00/M = 0.000375");
      const log = await api<{ data: { action: string; target: string; detail: string }[] }>("/audit");
      expect(log.data[0]).toMatchObject({
        action: "price.change",
        actor: "reload",
        target: "house",
      } as object);
      expect(log.data[0]?.detail).toStartWith("openai/house: input 5 → 6, ");
      expect(log.data[0]?.detail).toContain("tiers.flex.output none → 2");
    });

    test("that is cancelled or interrupted has its rates too", async () => {
      const traffic = new Traffic(sluice, provider);
      const cancelled = await traffic.cancelledAfterContent(key);
      await waitFor(async () => (await show(cancelled)).includes("cancelled"), "the cancelled call");
      const { id: interrupted } = await traffic.stream(key);
      await waitFor(() => place.hasProgress(sluice), "the progress of the stream");
      await sluice.kill9();
      await sluice.restart();
      await waitFor(async () => (await show(interrupted)).includes("interrupted"), "the takeover", 60_000);
      for (const id of [cancelled, interrupted]) {
        const [charge] = (await lines()).filter(({ request_id }) => request_id === id);
        expect(charge).toMatchObject({ kind: "charge", model: "gpt-test", rates: { input: 1, output: 2 } });
        expect(await show(id)).toContain(charge?.calculation ?? "no calculation");
      }
      const { stdout, code } = await audit();
      expect({ stdout, code }).toMatchObject({ code: 0 });
    }, 120_000);
  });
}
