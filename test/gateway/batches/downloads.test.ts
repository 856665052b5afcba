import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { nextLoopIteration } from "../../../src/base/loop/pacer.ts";
import { migratedDatabase } from "../../store/postgres/fixtures.ts";
import { text } from "../../support/answers.ts";
import { hasPostgres } from "../../support/postgres.ts";
import { waitFor } from "../../support/wait.ts";
import { World } from "../world.ts";
import { BatchClient, chatLines, contentOf } from "./batch-world.ts";

const stores = hasPostgres ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const);
const mebibyte = 1024 * 1024;

/** More lines than fit into a part, each about 1 KB. */
const longFile = contentOf(
  Array.from({ length: 1200 }, (_, place) => ({ body: { text: `${place} ${"x".repeat(1000)}` } })),
  "/v1/chat/completions",
);

/** An answer of this size, on several lines. */
function longAnswer(bytes: number) {
  const message = { role: "assistant", content: "é\n".repeat(bytes / 4) };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
  const whole = { id: "c", object: "chat.completion", created: 1, model: "m", choices, usage };
  return text(JSON.stringify(whole, null, 2), "application/json");
}

describe.each(stores)("downloads on %s", (store) => {
  let world: World;
  let database: (AsyncDisposable & { readonly url: string }) | undefined;
  beforeAll(async () => {
    if (store === "PostgreSQL") database = await migratedDatabase();
    const place = database === undefined ? "" : `[store]\nurl = "${database.url}"\n`;
    world = await World.start({ head: place });
    world.write("seal", Buffer.alloc(32, 7).toString("base64"));
  }, 120_000);
  afterEach(() => world.provider.reset());
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  async function uploaded() {
    const client = BatchClient.of(world, await world.creditCaller());
    const { body } = await client.upload(longFile);
    return { client, path: `/files/${body.id}/content` };
  }

  test("many at once read the store in turns, a part in each", async () => {
    const callers = await Promise.all([uploaded(), uploaded()]);
    const { uploads } = world.gateway.batches.store;
    const part = uploads.part;
    let reads = 0;
    const slow = spyOn(uploads, "part").mockImplementation((id, sequence) => {
      reads += 1;
      for (const endMs = performance.now() + 3; performance.now() < endMs; );
      return part(id, sequence);
    });
    let most = 0;
    let isOver = false;
    const watch = async () => {
      while (!isOver) {
        const before = reads;
        await nextLoopIteration();
        most = Math.max(most, reads - before);
      }
    };
    const watching = watch();
    const downloads = callers.flatMap(({ client, path }) =>
      Array.from({ length: 8 }, async () => (await client.fetch("GET", path)).text()),
    );
    for (const content of await Promise.all(downloads)) expect(content === longFile).toBe(true);
    isOver = true;
    await watching;
    slow.mockRestore();
    expect([reads, most]).toEqual([16 * Math.ceil(longFile.length / (mebibyte / 4)), 1]);
  }, 60_000);

  test("a key has sixteen at once, of files and of results, and the next is told when to retry", async () => {
    const { client, path } = await uploaded();
    const other = await uploaded();
    const { uploads } = world.gateway.batches.store;
    const part = uploads.part;
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = spyOn(uploads, "part").mockImplementation(async (id, sequence) => {
      await promise;
      return part(id, sequence);
    });
    const texts = Array.from({ length: 16 }, () => client.fetch("GET", path).then((each) => each.text()));
    await waitFor(() => held.mock.calls.length === 16, "all to read");
    const refused = await client.fetch("GET", path);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(await refused.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
    const others = other.client.fetch("GET", other.path).then((each) => each.text());
    await waitFor(() => held.mock.calls.length === 17, "another key to read");
    resolve();
    for (const content of [...texts, others]) expect((await content) === longFile).toBe(true);
    held.mockRestore();
    await waitFor(() => world.gateway.downloads.size === 0, "them to end");
    expect(world.gateway.answers.takenBytes).toBe(0);
    expect((await client.fetch("GET", path)).status).toBe(200);
  }, 60_000);

  test.each(["in the clear", "encrypted"])(
    "a long result is read part by part, and is one line as it was sent: %s",
    async (how) => {
      const sealed = (config: string) => `[responses]\nencryption_key = "file:seal"\n${config}`;
      await world.reload(how === "encrypted" ? sealed : (config) => config);
      const { batches } = world.gateway.batches.store;
      world.provider.script(longAnswer(3 * mebibyte));
      const client = BatchClient.of(world, await world.creditCaller());
      const ended = await client.untilEnded((await client.create(chatLines(2))).id);
      expect(ended.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
      const whole = spyOn(batches, "whole");
      const response = await client.fetch("GET", `/files/${ended.output_file_id}/content`);
      const content = await response.text();
      expect(whole).not.toHaveBeenCalled();
      const lines = content.split("\n");
      expect([lines.length, lines.at(-1)]).toEqual([3, ""]);
      const { body: file } = await client.call<{ bytes: number }>("GET", `/files/${ended.output_file_id}`);
      expect(file.bytes).toBe(Buffer.byteLength(content));
      for (const line of lines.slice(0, 2)) {
        const { response: kept } = JSON.parse(line);
        expect(kept.body.choices[0].message.content === "é\n".repeat((3 * mebibyte) / 4)).toBe(true);
      }
      whole.mockRestore();
      if (how === "encrypted") {
        await world.reload((config) => config);
        expect(await client.results(ended)).toMatchObject([{ response: null }, { response: null }]);
      }
    },
    60_000,
  );
});
