import { beforeEach, expect, test } from "bun:test";
import { onBothStores } from "../on-both-stores.ts";
import type { Caller, World } from "../world.ts";
import { BatchClient, chatLines, contentOf } from "./batch-world.ts";

const endpoint = "/v1/chat/completions";
const partBytes = 256 * 1024;
/** Of two parts each. */
const content = contentOf(
  chatLines(4, { messages: [{ role: "user", content: "word ".repeat(25_000) }] }),
  endpoint,
);
const longLine = contentOf(
  chatLines(1, { messages: [{ role: "user", content: "word ".repeat(300_000) }] }),
  endpoint,
);

onBothStores("", (place) => {
  let world: World;
  let caller: Caller;
  let client: BatchClient;
  beforeEach(async () => {
    world = place();
    caller = await world.creditCaller();
    client = BatchClient.of(world, caller);
  });

  const creating = (id: string) => ({ input_file_id: id, endpoint, completion_window: "24h" });

  /** Creates batches over these files at once. Returns the files whose parts are read until each is validated, in order. */
  const readsOf = async (fileIds: readonly string[]): Promise<readonly string[]> => {
    const { uploads, batches } = world.running.store;
    const { part } = uploads;
    const { start } = batches;
    const read: string[] = [];
    const validated = new Set<string>();
    const byBatch = async (id: string) => (await batches.get(id))?.fileId ?? "";
    Object.assign(uploads, {
      part: (...asked: Parameters<typeof part>) => {
        if (!validated.has(asked[0])) read.push(asked[0]);
        return part(...asked);
      },
    });
    Object.assign(batches, {
      start: async (...started: Parameters<typeof start>) => {
        validated.add(await byBatch(started[0]));
        return start(...started);
      },
    });
    const created = await Promise.all(fileIds.map((id) => client.call("POST", "/batches", creating(id))));
    Object.assign(uploads, { part });
    Object.assign(batches, { start });
    for (const { status, body } of created) {
      expect(status).toBe(200);
      await client.untilEnded(body.id);
    }
    return read;
  };

  test("a create reads its input once", async () => {
    for (const input of [content, longLine]) {
      const { body: file } = await client.upload(input);
      expect(await readsOf([file.id])).toHaveLength(Math.ceil(input.length / partBytes));
    }
  });

  test("a key validates one file at a time, in the order of its creates", async () => {
    const files = await Promise.all([1, 2, 3, 4].map(() => client.upload(content)));
    const read = await readsOf(files.map(({ body }) => body.id));
    const changes = read.filter((id, place) => id !== read[place - 1]);
    expect(changes).toHaveLength(4);
    expect(new Set(changes).size).toBe(4);
  });

  test("a line that the memory for bodies has no room for is not kept, and its batch leaves nothing", async () => {
    const { body: file } = await client.upload(longLine);
    const { bodies } = world.gateway;
    const others = Array.from({ length: 10 }, (_, number) => bodies.reserve(`other ${number}`));
    for (const other of others) while (other.grow(1024 * 1024));
    const taken = bodies.takenBytes;
    const rejected = await client.call("POST", "/batches", creating(file.id));
    expect(rejected).toMatchObject({ status: 503, body: { error: { code: "service_unavailable" } } });
    expect(bodies.takenBytes).toBe(taken);
    for (const other of others) other.release();
    expect((await client.call<{ data: unknown[] }>("GET", "/batches")).body.data).toEqual([]);
    const created = await client.call("POST", "/batches", creating(file.id));
    expect(created.status).toBe(200);
    await client.untilEnded(created.body.id);
    expect(bodies.takenBytes).toBe(0);
  });
});
