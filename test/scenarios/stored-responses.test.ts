import { expect, test } from "bun:test";
import { emptyDatabase } from "../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { startSluice } from "../support/sluice.ts";
import { dataOf, readStream } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";

const demo = `
[providers.demo]
kind = "demo"

[[models]]
id = "m"
provider = "demo"
price = { input = 1, output = 1 }
`;

/** What a client has read to its end, it may continue, whatever becomes of the gateway in that moment. */
async function killAfterTheLastByte(store: string): Promise<void> {
  const sluice = await startSluice({ config: store + demo });
  try {
    const key = await sluice.createKey();
    const known = async () => (await sluice.request("/v1/usage", { key })).status === 200;
    await waitFor(known, "the key to be known");
    const body = { model: "m", input: "My name is Ada.", stream: true };
    const events = dataOf(await readStream(await sluice.request("/v1/responses", { key, body })));
    const { response } = events.at(-1) as { response: { id: string; status: string } };
    await sluice.kill9();
    expect(response.status).toBe("completed");
    await sluice.restart();
    const next = { model: "m", input: "And?", previous_response_id: response.id };
    const continued = await sluice.request("/v1/responses", { key, body: next });
    expect(continued.status, await continued.text()).toBe(200);
    const charged = await sluice.request("/v1/usage", { key });
    expect(await charged.json()).toMatchObject({ requests: { total: 2 } });
  } finally {
    await sluice.dispose();
  }
}

test(
  "a stored response outlasts a kill right after its last byte, in a data folder",
  () => killAfterTheLastByte(""),
  60_000,
);

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test("a stored response outlasts a kill right after its last byte, on PostgreSQL", async () => {
    await using database = await emptyDatabase();
    await killAfterTheLastByte(`[store]\nurl = "${database.server.url(database.name)}"\n`);
  }, 120_000);
