import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { World } from "../world.ts";
import { BatchClient, chatLines } from "./batch-world.ts";

test("with an encryption key nothing that is asked or answered is in the database in the clear", async () => {
  await using world = await World.start();
  world.write("seal", Buffer.alloc(32, 7).toString("base64"));
  await world.reload((config) => `[responses]\nencryption_key = "file:seal"\n${config}`);
  const client = BatchClient.of(world, await world.creditCaller());
  const messages = [{ role: "user", content: "The secret of the canal." }];
  const lines = [...chatLines(2, { messages }), ...chatLines(1, { messages: "The secret of the canal." })];
  const ended = await client.untilEnded(
    (await client.create(lines.map((line, place) => ({ ...line, custom_id: `c${place}` })))).id,
  );
  expect(ended.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
  const results = await client.results(ended);
  const [first] = results;
  const answer = JSON.stringify(first?.response?.body);
  const database = new Database(join(world.gateway.configured.settings.server.data, "sluice.db"), {
    readonly: true,
  });
  const bodies = [
    "SELECT body FROM file_parts",
    "SELECT body FROM responses",
    "SELECT error AS body FROM batch_lines WHERE error IS NOT NULL",
  ].flatMap((query) => database.query<{ body: Uint8Array }, []>(query).all());
  database.close();
  expect(bodies).toHaveLength(4);
  const stored = bodies.map(({ body }) => Buffer.from(body).toString("latin1")).join("\n");
  expect(stored).not.toContain("secret of the canal");
  expect(stored).not.toContain('"choices"');
  expect(stored).not.toContain("invalid_request");
  expect(answer).toContain('"choices"');
});
