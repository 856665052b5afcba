import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReconciliationView } from "../../src/admin/reconcile/schema.ts";
import { shippedCatalog } from "../../src/config/catalog/shipped.ts";
import { json } from "../support/answers.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice } from "../support/sluice.ts";

const vendor = startProvider();
afterAll(() => vendor.stop());

const usage = { prompt_tokens: 100_000, completion_tokens: 10_000, total_tokens: 110_000 };
const listed = shippedCatalog("openai")?.find(({ id }) => id === "gpt-6-luna")?.price;

const config = `
[providers.openai]
kind = "openai"
base_url = "${vendor.url}/v1"
api_key = "env:TEST_OPENAI_KEY"
models = ["gpt-6-luna"]
markup = 1.2

[[models]]
id = "own"
provider = "openai"
price = { input = 3.0, output = 6.0 }
`;

test("a bill at list price agrees with what was resold at a markup, and an entry of one's own is taken as it is", async () => {
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
  await using gateway = await Sluice.start({ config, args: [] });
  const key = await gateway.createKey({ credit: 10 });
  const messages = [{ role: "user", content: "Hello" }];
  const costOf = async (model: string) => {
    const response = await gateway.request("/v1/chat/completions", { key, body: { model, messages } });
    expect(response.status, await response.text()).toBe(200);
    return Number(response.headers.get("x-sluice-cost"));
  };
  const atList =
    ((listed?.input ?? 0) * usage.prompt_tokens + (listed?.output ?? 0) * usage.completion_tokens) / 1e6;
  expect(await costOf("gpt-6-luna")).toBeCloseTo(atList * 1.2, 6);
  expect(await costOf("own")).toBeCloseTo(0.36, 6);
  const day = new Date().toISOString().slice(0, 10);
  const figures = `1,${usage.prompt_tokens},0,${usage.completion_tokens}`;
  writeFileSync(
    join(gateway.folder, "bill.csv"),
    `date,model,requests,input,cached,output,cost\n${day},gpt-6-luna,${figures},${atList}\n${day},own,${figures},0.36\n`,
  );
  const compared = async (...args: string[]) => {
    const said = await gateway.cli(
      "reconcile",
      "--provider",
      "openai",
      "--from",
      day,
      "--to",
      day,
      ...args,
      "--json",
    );
    return { code: said.code, view: JSON.parse(said.stdout) as ReconciliationView };
  };
  const { code, view } = await compared(join(gateway.folder, "bill.csv"));
  expect([code, view.differing, view.data.map(({ reasons }) => reasons)]).toEqual([0, 0, [[], []]]);
  const [, own] = view.data;
  expect(own?.cost).toMatchObject({ billed: 0.36, ledger: 0.36 });
}, 60_000);
