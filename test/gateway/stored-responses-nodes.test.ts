import { describe, expect, test } from "bun:test";
import type { RunningGateway } from "../../src/app/start.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { emptyDatabase } from "../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { dataOf, readStream } from "../support/sse.ts";
import { keyOn, start } from "./demo-gateway.ts";

/** Stored responses where several gateways, or one after the other, keep them in one place. */

interface Answered {
  readonly id: string;
  readonly status: string;
  readonly error: { readonly code: string } | null;
}

async function ask({ url }: RunningGateway, secret: string, fields: object): Promise<Answered> {
  const response = await fetch(`${url}/v1/responses`, {
    method: "POST",
    body: JSON.stringify({ model: "m", ...fields }),
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
  });
  if (!("stream" in fields)) return (await response.json()) as Answered;
  const events = dataOf(await readStream(response)) as { type: string; response: Answered }[];
  return (
    events.find(({ type }) => type === "response.completed")?.response ?? { id: "", status: "", error: null }
  );
}

test("a stored response outlasts a restart on a data folder", async () => {
  using folder = temporaryFolder();
  const gateway = await start(folder.dir, "data");
  const { secret } = await keyOn(gateway);
  const first = await ask(gateway, secret, { input: "One" });
  const second = await ask(gateway, secret, { input: "Two", previous_response_id: first.id, stream: true });
  await gateway.stop();
  const again = await start(folder.dir, "data");
  const third = await ask(again, secret, { input: "Three", previous_response_id: second.id });
  expect(third.status).toBe("completed");
  await again.stop();
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("on PostgreSQL", () => {
    test("what one gateway has answered another continues at once, and once it is deleted nobody does", async () => {
      await using database = await emptyDatabase();
      using folder = temporaryFolder();
      const store = `[store]\nurl = "${database.server.url(database.name)}"\n`;
      const gateways = [
        await start(folder.dir, "one", store),
        await start(folder.dir, "other", store),
      ] as const;
      const { key, secret } = await keyOn(gateways[0]);
      await gateways[1].gateway.catchUp();
      let last = await ask(gateways[0], secret, { input: "One" });
      for (let turn = 1; turn < 20; turn += 1) {
        const stream = turn % 2 === 0 ? { stream: true } : {};
        const fields = { input: `Turn ${turn}`, previous_response_id: last.id, ...stream };
        last = await ask(gateways[turn % 2 === 0 ? 0 : 1], secret, fields);
        expect(last.status).toBe("completed");
      }
      const items = await fetch(`${gateways[0].url}/v1/responses/${last.id}/input_items?limit=100`, {
        headers: { authorization: `Bearer ${secret}` },
      });
      expect(((await items.json()) as { data: unknown[] }).data).toHaveLength(39);
      const long = await ask(gateways[0], secret, {
        input: "long ".repeat(100_000),
        previous_response_id: last.id,
      });
      const after = await ask(gateways[1], secret, { input: "Short", previous_response_id: long.id });
      expect(after.status).toBe("completed");
      expect(await gateways[0].store.turns.sums(key.id, Date.now())).toMatchObject({ count: 22 });
      expect(await gateways[1].store.turns.deleteAll(key.id)).toBe(22);
      const { error } = await ask(gateways[0], secret, { input: "Again", previous_response_id: after.id });
      expect(error?.code).toBe("previous_response_not_found");
      for (const gateway of gateways) await gateway.stop();
    }, 120_000);
  });
