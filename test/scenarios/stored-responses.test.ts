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

[routes]
conversations = true
`;

interface Answered {
  readonly id: string;
  readonly status: string;
  readonly output: readonly { readonly type: string }[];
}

/** What a client has read to its end is charged, and may be continued, whatever becomes of the gateway in that moment. */
async function killAfterTheLastByte(store: string): Promise<void> {
  await using sluice = await startSluice({ config: store + demo });
  const key = await sluice.createKey();
  const known = async () => (await sluice.request("/v1/usage", { key })).status === 200;
  await waitFor(known, "the key to be known");
  let answered = 0;
  const ask = async (path: string, fields: object): Promise<Answered> => {
    const response = await sluice.request(path, { key, body: { model: "m", ...fields } });
    const read = await readStream(response);
    await sluice.kill9();
    expect(response.status).toBe(200);
    await sluice.restart();
    answered += 1;
    const usage = await (await sluice.request("/v1/usage", { key })).json();
    expect(usage).toMatchObject({ requests: { total: answered }, credits: { reserved: 0 } });
    // Of the shape that is asked for.
    return (dataOf(read).at(-1)?.["response"] ?? JSON.parse(read.text)) as Answered;
  };
  const stream = true;
  const first = await ask("/v1/responses", { input: "My name is Ada.", stream });
  const second = await ask("/v1/responses", { input: "And?", previous_response_id: first.id });
  const { output } = await ask("/v1/responses/compact", { previous_response_id: second.id });
  expect(output.at(-1)?.type).toBe("compaction");
  const third = await ask("/v1/responses", { input: output });
  const trigger = [{ type: "compaction_trigger" }];
  const fourth = await ask("/v1/responses", { input: trigger, previous_response_id: third.id, stream });
  expect(fourth.output.map(({ type }) => type)).toEqual(["compaction"]);
  const { id: conversation } = (await (
    await sluice.request("/v1/conversations", { key, body: {} })
  ).json()) as Answered;
  await ask("/v1/responses", { input: "Hello", conversation });
  const last = await ask("/v1/responses", { input: "Once more", conversation, stream });
  expect([first, second, third, fourth, last].map(({ status }) => status)).toEqual(
    Array(5).fill("completed"),
  );
  const items = await sluice.request(`/v1/conversations/${conversation}/items`, { key });
  expect(((await items.json()) as { data: unknown[] }).data).toHaveLength(4);
  expect((await sluice.cli("ledger", "audit")).code).toBe(0);
}

test(
  "what is stored outlasts a kill right after the last byte, in a data folder",
  () => killAfterTheLastByte(""),
  60_000,
);

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test("what is stored outlasts a kill right after the last byte, on PostgreSQL", async () => {
    await using database = await emptyDatabase();
    await killAfterTheLastByte(`[store]\nurl = "${database.server.url(database.name)}"\n`);
  }, 120_000);
