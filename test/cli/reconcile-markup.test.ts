import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReconciliationView } from "../../src/admin/reconcile/schema.ts";
import { shippedCatalog } from "../../src/config/catalog/shipped.ts";
import { priceOn } from "../../src/config/dated-prices.ts";
import { json } from "../support/answers.ts";
import { hasPostgres, sharedPostgres, withoutPostgres } from "../support/postgres.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice, type TestKey } from "../support/sluice.ts";

const vendor = startProvider();
afterAll(() => vendor.stop());

const usage = { prompt_tokens: 100_000, completion_tokens: 10_000, total_tokens: 110_000 };
const listed = priceOn(shippedCatalog("openai")?.find(({ id }) => id === "gpt-6-luna")?.price);
const atList =
  ((listed?.input ?? 0) * usage.prompt_tokens + (listed?.output ?? 0) * usage.completion_tokens) / 1e6;

interface Resale {
  readonly usdPerCredit?: number;
  /** Lines of the provider. */
  readonly provider?: string;
  readonly models?: string;
}

function configOf({ usdPerCredit = 0.5, provider = "", models = "" }: Resale): string {
  return `
[money]
usd_per_credit = ${usdPerCredit}

[providers.openai]
kind = "openai"
base_url = "${vendor.url}/v1"
api_key = "env:TEST_OPENAI_KEY"
models = ["gpt-6-luna"]
${provider}

[[models]]
id = "own"
provider = "openai"
price = { input = 3.0, output = 6.0 }
${models}`;
}

const ownEntry = '[[models]]\nid = "gpt-6-luna"\nprovider = "openai"\nprice = { input = 9.0, output = 9.0 }';

function describeStore(name: string, storeLines: () => Promise<string>): void {
  describe(`what a provider is owed, on ${name}`, () => {
    async function start(resale: Resale) {
      const store = await storeLines();
      vendor.script(({ body }) =>
        json({
          id: "c",
          object: "chat.completion",
          created: 1,
          model: String(body["model"]),
          usage,
          choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
        }),
      );
      const gateway = await Sluice.start({ config: `${store}${configOf(resale)}`, args: [] });
      return { gateway, reload: (other: Resale) => gateway.reload(`${store}${configOf(other)}`) };
    }

    async function costOf(gateway: Sluice, key: TestKey, model: string): Promise<number> {
      const body = { model, messages: [{ role: "user", content: "Hello" }] };
      const response = await gateway.request("/v1/chat/completions", { key, body });
      expect(response.status, await response.text()).toBe(200);
      return Number(response.headers.get("x-sluice-cost"));
    }

    /** Compares with a bill of one call of each, at USD. */
    async function reconciled(gateway: Sluice, bills: Readonly<Record<string, number>>) {
      const day = new Date().toISOString().slice(0, 10);
      const figures = `1,${usage.prompt_tokens},0,${usage.completion_tokens}`;
      const lines = Object.entries(bills).map(([model, cost]) => `${day},${model},${figures},${cost}\n`);
      const file = join(gateway.folder, "bill.csv");
      writeFileSync(file, `date,model,requests,input,cached,output,cost\n${lines.join("")}`);
      const words = `reconcile --provider openai --from ${day} --to ${day} --tolerance 0 ${file} --json`;
      const { code, stdout, stderr } = await gateway.cli(...words.split(" "));
      const view = JSON.parse(stdout || stderr) as ReconciliationView;
      return { code, costs: view.data.map(({ model, cost }) => [model, cost.billed, cost.ledger]) };
    }

    const agrees = (bills: Readonly<Record<string, number>>) => ({
      code: 0,
      costs: Object.entries(bills).map(([model, cost]) => [model, cost, cost]),
    });

    test("is its list price and the price of an entry, whatever markup, credit and entries are configured later", async () => {
      const { gateway, reload } = await start({ provider: "markup = 1.2" });
      await using _ = gateway;
      const key = await gateway.createKey({ credit: 10 });
      expect(await costOf(gateway, key, "gpt-6-luna")).toBeCloseTo((atList * 1.2) / 0.5, 6);
      expect(await costOf(gateway, key, "own")).toBeCloseTo(0.36 / 0.5, 6);
      const bills = { "gpt-6-luna": atList, own: 0.36 };
      expect(await reconciled(gateway, bills)).toEqual(agrees(bills));
      for (const later of [
        { provider: "" },
        { usdPerCredit: 2, provider: "markup = 3" },
        { provider: "markup = 1.2", models: ownEntry },
      ]) {
        await reload(later);
        expect(await reconciled(gateway, bills)).toEqual(agrees(bills));
      }
      const audit = await gateway.cli("ledger", "audit", "--deep");
      expect([audit.code, audit.stdout]).toEqual([0, expect.stringContaining("no difference")]);
    }, 60_000);

    test("includes a factor of its region, and for token budgets no margin either", async () => {
      const { gateway } = await start({ provider: "cost_factor = 1.1\nmarkup = 1.2" });
      await using _ = gateway;
      const key = await gateway.createKey({ mode: "token_budget" });
      await costOf(gateway, key, "gpt-6-luna");
      const bills = { "gpt-6-luna": atList * 1.1 };
      const { code, costs } = await reconciled(gateway, bills);
      expect([code, costs[0]?.[2]]).toEqual([0, expect.closeTo(atList * 1.1, 9)]);
      const credit = await gateway.createKey({ credit: 10 });
      expect(await costOf(gateway, credit, "gpt-6-luna")).toBeCloseTo((atList * 1.1 * 1.2) / 0.5, 6);
    }, 60_000);
  });
}

describeStore("SQLite", async () => "");
if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describeStore("PostgreSQL", async () => {
    const postgres = sharedPostgres();
    return `[store]\nurl = "${postgres.url(await postgres.createDatabase())}"\n`;
  });
