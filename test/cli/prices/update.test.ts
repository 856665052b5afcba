import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { shippedCatalog } from "../../../src/config/catalog/shipped.ts";
import { priceOn } from "../../../src/config/dated-prices.ts";
import { hasPostgres, sharedPostgres } from "../../support/postgres.ts";
import { startProvider } from "../../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../../support/sluice.ts";
import { waitFor } from "../../support/wait.ts";

const model = "gpt-5.4";
const listed = priceOn(shippedCatalog("openai")?.find(({ id }) => id === model)?.price ?? {});
const { input = 0, output = 0 } = listed;

function configOf(url: string): string {
  return `[providers.openai]
kind = "openai"
base_url = "${url}/openai/v1"
api_key = "env:TEST_OPENAI_KEY"
models = ["gpt-5.4*", "gpt-99"]

[[models]]
id = "gpt-5.4-mini"
provider = "openai"
price = { input = 7.0, output = 8.0 }
`;
}

function priced(...entries: readonly string[]): string {
  return entries.map((entry) => `[[models]]\nprovider = "openai"\n${entry}\n`).join("\n");
}

const doubled = priced(
  `id = "${model}"\nprice = { input = ${2 * input}, output = ${2 * output} }`,
  'id = "gpt-99"\nprice = { input = 1.0, output = 2.0 }',
  'id = "gpt-5.4-mini"\nprice = { input = 1.0, output = 2.0 }',
  // Not served here, so that its price does not count.
  'id = "gpt-4o"\nprice = { input = 900.0, output = 900.0 }',
);

interface Charged {
  readonly cost: number;
  readonly rates: unknown;
}

interface Opened {
  readonly gateways: readonly [Sluice, ...Sluice[]];
  readonly first: Sluice;
  dispose(): Promise<void>;
}

async function open(onPostgres: boolean): Promise<Opened> {
  const provider = startProvider();
  const postgres = onPostgres ? sharedPostgres() : null;
  const env: Record<string, string> =
    postgres === null ? {} : { SLUICE_STORE: postgres.url(await postgres.createDatabase()) };
  const start = () => startSluice({ config: configOf(provider.url), env });
  const first = await start();
  const gateways: [Sluice, ...Sluice[]] = postgres === null ? [first] : [first, await start()];
  const dispose = async () => {
    await Promise.all(gateways.map((gateway) => gateway.dispose()));
    provider.stop();
  };
  return { gateways, first, dispose };
}

async function usedBy(gateway: Sluice, key: TestKey): Promise<number> {
  const shown = await gateway.cliJson<{ credit: { used: number } }>("keys", "show", key.id);
  return shown.credit.used;
}

/** What a call at this gateway is charged. */
async function chargeOf(gateway: Sluice, key: TestKey, asked = model): Promise<Charged["cost"]> {
  const before = await usedBy(gateway, key);
  const body = { model: asked, messages: [{ role: "user", content: "hi" }], max_completion_tokens: 50 };
  const response = await gateway.request("/v1/chat/completions", { key, body });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  await waitFor(async () => (await usedBy(gateway, key)) > before, "the charge");
  return (await usedBy(gateway, key)) - before;
}

function fileIn(gateway: Sluice, text: string, name = "prices.toml"): string {
  const file = join(gateway.folder, name);
  writeFileSync(file, text);
  return file;
}

async function applied(gateways: readonly Sluice[], times: number): Promise<void> {
  const reloads = (gateway: Sluice) => gateway.output.split("the new configuration is running").length - 1;
  await waitFor(() => gateways.every((gateway) => reloads(gateway) >= times), "every gateway to reload");
}

for (const store of ["SQLite", "PostgreSQL"]) {
  const onPostgres = store === "PostgreSQL";
  describe.skipIf(onPostgres && !hasPostgres)(`an update of prices on ${store}`, () => {
    test("is applied by every gateway, leaves charges their rates, and can be reverted", async () => {
      const opened = await open(onPostgres);
      const { gateways, first } = opened;
      try {
        const key = await first.createKey({ credit: 10 });
        const before = await chargeOf(first, key);
        const update = ["models", "update", "--from", fileIn(first, doubled), "--yes"];
        const { changes } = await first.cliJson<{ changes: object[] }>(...update);
        expect(changes).toContainEqual(
          expect.objectContaining({ model, change: "up", factor: 2, rates: expect.any(Array) }),
        );
        expect(changes).toContainEqual(expect.objectContaining({ model: "gpt-99", change: "new" }));
        expect(changes).not.toContainEqual(expect.objectContaining({ model: "gpt-4o" }));
        expect(changes).not.toContainEqual(expect.objectContaining({ model: "gpt-5.4-mini" }));
        await applied(gateways, 1);
        for (const gateway of gateways) {
          expect(await chargeOf(gateway, key)).toBeCloseTo(2 * before, 9);
          expect(await chargeOf(gateway, key, "gpt-99")).toBeGreaterThan(0);
        }
        // It is still there after a restart.
        await first.stop();
        await first.restart();
        expect(await chargeOf(first, key)).toBeCloseTo(2 * before, 9);

        await first.cliJson("models", "update", "--revert", "--yes");
        await waitFor(() => first.output.includes("the new configuration is running"), "the reload");
        await applied(gateways.slice(1), 2);
        for (const gateway of gateways) expect(await chargeOf(gateway, key)).toBeCloseTo(before, 9);
        const audit = await first.cliJson<object>("ledger", "audit");
        expect(audit).toMatchObject({ ok: true });
        const log = await first.cliJson<{ action: string; detail: string }[]>("audit-log");
        const updates = log.filter(({ action }) => action === "models.update");
        expect(updates.map(({ detail }) => detail)).toEqual([
          "reverted",
          expect.stringContaining("1 new, 1 up"),
        ]);
        expect(log.some(({ action, detail }) => action === "price.change" && detail.includes(model))).toBe(
          true,
        );
      } finally {
        await opened.dispose();
      }
    }, 120_000);
  });
}
