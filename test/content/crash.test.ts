import { expect, test } from "bun:test";
import { startSluice } from "../support/sluice.ts";

const token = "the-operators-token";
const config = `
[providers.demo]
kind = "demo"
[[models]]
id = "demo"
provider = "demo"
price = { input = 1.0, output = 1.0 }
[content]
`;
const clients = 8;
/** A crash may lose what came within it. */
const lastSecondMs = 1000;

test("kill -9 under load loses no charge, and of content the last second at most", async () => {
  await using sluice = await startSluice({ config, env: { SLUICE_ADMIN_TOKEN: token } });
  const key = await sluice.createKey({ credit: 1000 });
  const charged: { id: string; atMs: number }[] = [];
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const body = { model: "demo", messages: [{ role: "user", content: "Hello" }] };
      const response = await sluice.request("/v1/chat/completions", { key, body }).catch(() => null);
      const text = await response?.text().catch(() => null);
      if (response?.status !== 200 || text == null) return;
      charged.push({ id: response.headers.get("x-request-id") ?? "", atMs: performance.now() });
    }
  };
  const load = Array.from({ length: clients }, client);
  const startedMs = performance.now();
  while (performance.now() - startedMs < 3 * lastSecondMs || charged.length < 50) await Bun.sleep(20);
  const killedMs = performance.now();
  await sluice.kill9();
  isOver = true;
  await Promise.all(load);
  await sluice.restart();

  const read = async (path: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await sluice.request(`/admin/api/v1${path}`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  const early = charged.filter(({ atMs }) => atMs < killedMs - lastSecondMs);
  expect(early.length).toBeGreaterThan(0);
  const sample = early
    .filter((_, place) => place % Math.ceil(early.length / 100) === 0)
    .concat(early.slice(-20));
  for (const { id } of sample) expect(await read(`/requests/${id}/content`), id).toBe(200);
  const audit = await sluice.run("ledger", "audit");
  expect(audit.code).toBe(0);
  const last = charged.slice(-20);
  for (const { id } of last) expect(await read(`/requests/${id}`), id).toBe(200);
}, 120_000);
