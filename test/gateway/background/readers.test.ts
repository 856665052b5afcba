import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { migratedDatabase } from "../../store/postgres/fixtures.ts";
import { hasPostgres } from "../../support/postgres.ts";
import { waitFor } from "../../support/wait.ts";
import { answer, turnTail } from "../turn-world.ts";
import { type Caller, World } from "../world.ts";
import { BackgroundClient, begun, heldResponse, parsed } from "./background-world.ts";

const stores = hasPostgres ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const);

describe.each(stores)("readers of a response in the background, on %s", (store) => {
  let world: World;
  let database: (AsyncDisposable & { readonly url: string }) | undefined;
  let caller: Caller;
  let client: BackgroundClient;
  beforeAll(async () => {
    if (store === "PostgreSQL") database = await migratedDatabase();
    const place = database === undefined ? "" : `[store]\nurl = "${database.url}"\n`;
    world = await World.startCounting({ head: place, tail: turnTail });
  }, 120_000);
  beforeEach(async () => {
    world.provider.script(answer);
    caller = await world.creditCaller();
    client = BackgroundClient.of(world, caller);
  });
  afterEach(() => world.provider.reset());
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  /** A response that has not ended, and how to end it. */
  async function running() {
    const { script, release } = heldResponse();
    world.provider.script(script);
    const body = { model: "gpt-test", input: "One", background: true, stream: true };
    return { ...(await begun(await client.fetch("POST", "", body))), release };
  }

  const follow = (id: string, signal?: AbortSignal) =>
    fetch(`${world.running.url}/v1/responses/${id}?stream=true`, {
      headers: { authorization: `Bearer ${caller.secret}` },
      ...(signal && { signal }),
    });

  test("each part is read once for all of them, however many follow it", async () => {
    const { background } = world.gateway.backgrounds.store;
    const { eventsFrom } = background;
    const parts: number[] = [];
    const reads = spyOn(background, "eventsFrom").mockImplementation(async (id, position) => {
      const part = await eventsFrom(id, position);
      if (part !== null) parts.push(part.first);
      return part;
    });
    const looks = spyOn(background, "find");
    const { id, whole, release } = await running();
    const texts = Array.from({ length: 12 }, async () => (await follow(id)).text());
    await waitFor(() => world.gateway.eventReaders.readersOf(id) === 13, "all to read");
    release();
    const all = await whole();
    for (const text of await Promise.all(texts)) expect(text).toBe(all);
    // A reader that comes late may read again what is no longer kept; here all of it is kept.
    expect(new Set(parts).size).toBe(parts.length);
    // Two for each time that they wait together; one by one it would be thirteen times as many.
    expect(reads.mock.calls.length).toBeLessThan(60);
    expect(looks.mock.calls.length).toBeLessThan(60);
    reads.mockRestore();
    looks.mockRestore();
    await waitFor(() => world.gateway.eventReaders.size === 0, "them to leave");
  });

  test("one response has sixteen with its creator, and the next is told when to retry", async () => {
    const { id, whole, release } = await running();
    const leaving = new AbortController();
    const readers = await Promise.all(Array.from({ length: 14 }, () => follow(id)));
    const last = await follow(id, leaving.signal);
    expect(last.status).toBe(200);
    const refused = await follow(id);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(await refused.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
    leaving.abort();
    await last.text().catch(() => "");
    await waitFor(() => world.gateway.eventReaders.readersOf(id) === 15, "one to leave");
    const next = await follow(id);
    expect(next.status).toBe(200);
    release();
    const all = await whole();
    for (const reader of [...readers, next]) expect(await reader.text()).toBe(all);
    expect(parsed(all).at(-1)?.type).toBe("response.completed");
    await waitFor(() => world.gateway.eventReaders.size === 0, "them to leave");
  });

  test("a key has sixty-four over all its responses, another key as many again", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const { id } = await begun(
        await client.fetch("POST", "", { model: "gpt-test", input: "One", background: true, stream: true }),
      );
      ids.push(id);
      await client.untilEnded(id);
    }
    const enter = (keyId: string, id: string) => world.gateway.eventReaders.enter(keyId, id, false);
    const { id: keyId } = caller.key;
    const readers = ids.slice(0, 4).flatMap((id) => Array.from({ length: 16 }, () => enter(keyId, id)));
    expect((await follow(ids[4] ?? "")).status).toBe(429);
    const other = enter("key_other", "resp_other");
    const created = world.gateway.eventReaders.enter(keyId, "resp_new", true);
    for (const reader of [...readers, other, created]) {
      reader.leave();
      reader.leave();
    }
    expect((await follow(ids[4] ?? "")).status).toBe(200);
    await waitFor(() => world.gateway.eventReaders.size === 0, "them to leave");
  });
});
