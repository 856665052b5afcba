import { expect, test } from "bun:test";
import type { ReconciliationView } from "../../src/admin/reconcile/schema.ts";
import { configFor } from "../support/config.ts";
import { startSluice } from "../support/sluice.ts";

const token = "slua_of-the-operator";
const modelCount = 20_000;

const bill = [
  "date,model,requests,cost",
  ...Array.from({ length: modelCount }, (_, index) => `2026-10-01,model-${index},1,0.01`),
].join("\n");

test("a bill of 20,000 models is compared on a thread, while the gateway answers others", async () => {
  await using sluice = await startSluice({
    config: configFor({ url: "http://127.0.0.1:9" }),
    env: { SLUICE_ADMIN_TOKEN: token },
  });
  const headers = { authorization: `Bearer ${token}` };
  const post = (fields: object) =>
    sluice.request("/admin/api/v1/reconcile", {
      headers,
      body: { provider: "openai", from: "2026-10-01", to: "2026-10-31", ...fields },
    });
  let isCompared = false;
  const comparing = post({ files: [bill] }).finally(() => {
    isCompared = true;
  });
  let answered = 0;
  do {
    expect((await sluice.request("/healthz")).status).toBe(200);
    answered += 1;
  } while (!isCompared);
  const response = await comparing;
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as ReconciliationView;
  expect(data).toHaveLength(modelCount);
  expect(data.find(({ model }) => model === "model-0")).toMatchObject({
    date: "2026-10-01",
    requests: { billed: 1, ledger: 0, difference: 1 },
  });
  expect(answered).toBeGreaterThan(1);

  // The thread reports a bill that it cannot read, and the next one is compared.
  expect((await post({ files: ["no,bill\n1,2"] })).status).toBe(400);
  expect((await post({ files: [bill.split("\n").slice(0, 3).join("\n")] })).status).toBe(200);
}, 60_000);
