import { expect, test } from "bun:test";
import type { UsageView } from "../../src/admin/reports/schema.ts";
import { Sluice } from "../support/sluice.ts";

const config = `
[providers.demo]
kind = "demo"
[[models]]
id = "large-model"
provider = "demo"
price = { input = 10.0, output = 30.0 }
[[models]]
id = "small-model"
aliases = ["small"]
provider = "demo"
price = { input = 1.0, output = 3.0 }
[[models]]
id = "painter"
provider = "demo"
serves = ["embeddings"]
price = { input = 0.1 }
`;

const token = "the-operators-token";

test("usage as another model is what its requests would have cost there, for keys with credit and with a token budget", async () => {
  await using sluice = await Sluice.start({ config, env: { SLUICE_ADMIN_TOKEN: token } });
  const keys = [await sluice.createKey(), await sluice.createKey({ mode: "token_budget" })];
  for (const key of keys) {
    const body = { model: "large-model", messages: [{ role: "user", content: "Hello there" }] };
    expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(200);
  }
  const as = (model: string, ...more: string[]) =>
    sluice.cliJson<UsageView>("usage", "--as", model, "--by", "model", ...more);
  const same = await as("large-model");
  expect(same.as_spend).toBeGreaterThan(0);
  expect(same.as_spend).toBe(same.total.spend + same.total.list_cost);
  expect(same).toMatchObject({ as_model: "large-model", compared_requests: 2, not_comparable: [] });
  expect(same.compared_spend).toBe(same.as_spend);
  const { as_spend: smaller = 0 } = await as("small");
  expect(smaller).toBeCloseTo((same.as_spend ?? 0) / 10, 6);
  const { as_spend: ofOne } = await as("small-model", "--key", keys[0]?.id ?? "");
  expect(ofOne).toBeCloseTo(smaller / 2, 9);

  const headers = { authorization: `Bearer ${token}` };
  const asked = (model: string) => sluice.request(`/admin/api/v1/usage?as=${model}`, { headers });
  expect(((await (await asked("small")).json()) as UsageView).as_spend).toBe(smaller);
  const told = await sluice.cli("usage", "--as", "small");
  expect(told.stdout).toContain("2 charged requests, which cost");
  expect(told.stdout).toContain(`would have cost ${smaller} on small-model.`);

  const unknown = await sluice.cli("usage", "--as", "smal-model");
  expect(unknown.code).not.toBe(0);
  expect(unknown.stderr).toContain('no model is called "smal-model"; did you mean "small-model"');
  expect((await asked("smal-model")).status).toBe(400);
  expect((await sluice.cli("usage", "--as", "painter")).stderr).toContain("has no price for tokens");
}, 60_000);
