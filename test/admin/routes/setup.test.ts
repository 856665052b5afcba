import { expect, test } from "bun:test";
import { join } from "node:path";
import type { SetupStepView } from "../../../src/admin/system/setup-schema.ts";
import { builtInConfig } from "../../../src/config/source.ts";
import { startProvider } from "../../support/provider.ts";
import { Sluice } from "../../support/sluice.ts";

const token = "a-token-for-the-check-list";

async function stepsOf(sluice: Sluice): Promise<SetupStepView[]> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await sluice.request("/admin/api/v1/setup", { headers });
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: SetupStepView[] }).data;
}

const doneIn = (steps: readonly SetupStepView[]) => steps.filter(({ done }) => done).map(({ step }) => step);

test("the check list of a new gateway says how to do each step, and each is done by what it says", async () => {
  const vendor = startProvider();
  const provider = `[providers.openai]\nkind = "openai"\nbase_url = "${vendor.url}/v1"\napi_key = "env:TEST_OPENAI_KEY"\n`;
  await using sluice = await Sluice.start({
    config: `${provider}models = ["gpt-6-luna"]\n`,
    env: { SLUICE_ADMIN_TOKEN: token },
  });
  const empty = await stepsOf(sluice);
  expect(empty.map(({ step, done }) => [step, done])).toEqual([
    ["provider", false],
    ["key", false],
    ["request", false],
    ["reachable", false],
    ["backup", false],
  ]);
  const commands = empty.map(({ command }) => command?.split(" ")[0] ?? null);
  // A proxy is set up by a page of the docs, which the step names.
  expect(commands).toEqual(["sluice", "sluice", "sluice", null, "sluice"]);
  expect(empty.find(({ step }) => step === "reachable")?.text).toContain(
    "TLS through a proxy (docs/deploy.md)",
  );
  const key = await sluice.createKey();
  expect(doneIn(await stepsOf(sluice))).toEqual(["key"]);
  const body = { model: "gpt-6-luna", messages: [{ role: "user", content: "hi" }] };
  expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(200);
  expect(doneIn(await stepsOf(sluice))).toEqual(["provider", "key", "request"]);
  expect((await sluice.cli("backup", join(sluice.folder, "copy.db"))).code).toBe(0);
  expect(doneIn(await stepsOf(sluice))).toEqual(["provider", "key", "request", "backup"]);
  // What was done is known after a restart too.
  await sluice.stop();
  await sluice.restart();
  expect(doneIn(await stepsOf(sluice))).toEqual(["provider", "key", "request", "backup"]);
  vendor.stop();
});

test("the demo is no provider of the check list, and an address for other machines is one", async () => {
  await using sluice = await Sluice.start({
    config: `${builtInConfig}\n[admin]\npublic_url = "https://gateway.example.com"\n`,
    env: { SLUICE_ADMIN_TOKEN: token },
  });
  const steps = await stepsOf(sluice);
  expect(doneIn(steps)).toEqual(["key", "reachable"]);
  expect(steps[0]).toMatchObject({ step: "provider", command: "sluice config init" });
});

test("the check list is for people who may see everything", async () => {
  await using sluice = await Sluice.start({ env: { SLUICE_ADMIN_TOKEN: token } });
  expect((await sluice.request("/admin/api/v1/setup")).status).toBe(401);
});
