import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { World } from "../world.ts";
import { BatchClient, chatLines, contentOf } from "./batch-world.ts";

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

test("with an encryption key no names of clients are in the database, and they are read without it as they are", async () => {
  await using world = await World.start();
  world.write("seal", Buffer.alloc(32, 7).toString("base64"));
  const sealed = (config: string) => `[responses]\nencryption_key = "file:seal"\n${config}`;
  const client = BatchClient.of(world, await world.creditCaller());
  const before = await client.create(chatLines(1).map((line) => ({ ...line, custom_id: "customer-early" })));
  await world.reload(sealed);
  const lines = chatLines(2).map((line, place) => ({ ...line, custom_id: `customer-late-${place}` }));
  const { body: file } = await client.upload(contentOf(lines, "/v1/chat/completions"), {}, {}, "canal.jsonl");
  const body = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const created = await client.call("POST", "/batches", { ...body, metadata: { topic: "weir" } });
  expect(created.body).toMatchObject({ metadata: { topic: "weir" } });
  const ended = await client.untilEnded(created.body.id);
  const idsOf = async (id: string) =>
    (await client.results(await client.untilEnded(id))).map((result) => result.custom_id);
  expect(await idsOf(ended.id)).toEqual(["customer-late-0", "customer-late-1"]);
  expect(await idsOf(before.id)).toEqual(["customer-early"]);
  expect((await client.call<{ filename: string }>("GET", `/files/${file.id}`)).body.filename).toBe(
    "canal.jsonl",
  );
  const output = await client.call<{ bytes: number }>("GET", `/files/${ended.output_file_id}`);
  const content = await (await client.fetch("GET", `/files/${ended.output_file_id}/content`)).text();
  expect(output.body.bytes).toBe(Buffer.byteLength(content));
  const { data } = world.gateway.configured.settings.server;
  const stored = readdirSync(data)
    .filter((name) => name.startsWith("sluice.db"))
    .map((name) => readFileSync(join(data, name)).toString("latin1"))
    .join("");
  expect(stored).toContain("customer-early");
  for (const name of ["customer-late", "canal.jsonl", "weir"]) expect(stored).not.toContain(name);
  // Without the key nothing of it can be read, and nothing breaks.
  await world.reload((config) => config);
  expect((await client.get(ended.id)).status).toBe("completed");
  expect(await client.results(ended)).toMatchObject([{ response: null }, { response: null }]);
});
