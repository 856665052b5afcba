import { Database } from "bun:sqlite";
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { waitFor } from "../../support/wait.ts";
import { answer, turnTail } from "../turn-world.ts";
import { type Caller, World } from "../world.ts";
import { BackgroundClient, begun, heldResponse, parsed } from "./background-world.ts";

/** Responses in the background under other settings, with other keys, and in other places than usual. */
let world: World;
let caller: Caller;
let client: BackgroundClient;

const key = Buffer.alloc(32, 7).toString("base64");
const sealed = `[responses]\nencryption_key = "file:seal"\n`;

beforeAll(async () => {
  world = await World.startCounting({ tail: turnTail });
  world.write("seal", key);
}, 120_000);
beforeEach(async () => {
  await world.reload((config) => config);
  world.provider.reset();
  world.provider.script(answer);
  caller = await world.creditCaller();
  client = BackgroundClient.of(world, caller);
});
afterAll(() => world[Symbol.asyncDispose]());

test.each([
  ["[routes]\nbackground = false\n", "turned off"],
  ["[routes]\nstored_responses = false\n", "needs stored responses"],
  ["[retention]\nresponse_hours = 0\n", "needs stored responses"],
  ['[responses]\nstate = "provider"\n', "needs stored responses"],
])("there are none with %j", async (head, reason) => {
  await world.reload((config) => head + config);
  const { status, body } = await client.call("POST", "", {
    model: "gpt-test",
    input: "One",
    background: true,
  });
  expect([status, body.error.param]).toEqual([400, "background"]);
  expect(body.error.message).toContain(reason);
  expect(world.provider.requests).toEqual([]);
});

test("with an encryption key nothing that is said is in the database in the clear", async () => {
  await world.reload((config) => sealed + config);
  const { script, release } = heldResponse();
  world.provider.script(script);
  const created = await client.fetch("POST", "", {
    ...{ model: "claude-test", input: "The secret of the canal.", background: true, stream: true },
  });
  const { id, reader, whole } = await begun(created);
  await reader.until("output_text.delta");
  const texts = () => {
    const database = new Database(join(world.gateway.configured.settings.server.data, "sluice.db"), {
      readonly: true,
    });
    const rows = [
      "SELECT call AS body FROM background_responses",
      "SELECT body FROM background_events",
      "SELECT body FROM turns",
    ].flatMap((query) => database.query<{ body: Uint8Array }, []>(query).all());
    database.close();
    return rows.map(({ body }) => Buffer.from(body).toString("latin1")).join("\n");
  };
  expect(texts()).not.toMatch(/secret of the canal|navigable|response\.created/);
  release();
  const all = await whole();
  expect(parsed(all).at(-1)?.type).toBe("response.completed");
  expect(await client.events(id)).toBe(all);
  expect(await client.events(id, 4)).toBe(
    all.slice(all.indexOf("event: ", all.indexOf('"sequence_number":4'))),
  );
  expect(await client.get(id)).toMatchObject({ status: "completed" });
  expect(texts()).not.toMatch(/secret of the canal|navigable|response\.created/);
});

test("a token-budget key has them on its own origin", async () => {
  const budget = await world.tokenCaller(1_000_000);
  const body = { model: "claude-test", input: "One", background: true };
  const created = await world.ask(budget, { path: "/v1/responses", body });
  const { id, status } = (await created.json()) as { id: string; status: string };
  expect([created.status, status]).toEqual([200, "queued"]);
  const headers = { authorization: `Bearer ${budget.secret}` };
  const shown = async () =>
    (await (await fetch(`${world.running.url}/token/v1/responses/${id}`, { headers })).json()) as {
      status: string;
    };
  await waitFor(async () => (await shown()).status === "completed", "it to be completed");
  expect(await world.chargesOf(budget)).toHaveLength(1);
});

test("a large request runs as a small one does", async () => {
  const image = {
    type: "input_image",
    image_url: `data:image/png;base64,${"A".repeat(2_000_000)}`,
    detail: "low",
  };
  const { id } = await client.create({ input: [{ role: "user", content: [image] }] });
  expect(await client.untilEnded(id)).toMatchObject({ id, status: "completed" });
  expect(world.provider.requests.at(-1)?.body).toMatchObject({ stream: true });
  expect(world.provider.requests.at(-1)?.text).not.toContain("background");
  expect((await client.call("GET", `/${id}/input_items`)).body.data).toHaveLength(1);
});

test("a database that takes no events for a moment leaves no gap in them", async () => {
  const { background } = world.running.store;
  const { addEvents } = background;
  let failures = 0;
  Object.assign(background, {
    addEvents: (...added: Parameters<typeof addEvents>) => {
      failures += 1;
      return failures < 4 ? Promise.reject(new Error("The disk is full.")) : addEvents(...added);
    },
  });
  const created = await client.fetch("POST", "", {
    model: "claude-test",
    input: "One",
    background: true,
    stream: true,
  });
  const events = parsed(await created.text());
  Object.assign(background, { addEvents });
  expect(failures).toBeGreaterThan(3);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, place) => place));
  expect(events.at(-1)?.type).toBe("response.completed");
});

test("its timeout is its own", async () => {
  await world.reload((config) => `[responses]\nbackground_timeout = "1s"\n${config}`);
  world.provider.script(heldResponse().script);
  const { id } = await client.create({ model: "claude-test" });
  expect(await client.untilEnded(id)).toMatchObject({ status: "failed" });
  await world.reload((config) => `[server]\nrequest_timeout = "1s"\n${config}`);
  const { script, release } = heldResponse();
  world.provider.script(script);
  const { id: longer } = await client.create({ model: "claude-test" });
  await Bun.sleep(1500);
  expect((await client.get(longer)).status).toBe("in_progress");
  release();
  expect(await client.untilEnded(longer)).toMatchObject({ status: "completed" });
});

test("what is in flight is a metric, and nothing of it is left afterwards", async () => {
  const { script, release } = heldResponse();
  world.provider.script(script);
  const { id } = await client.create({ model: "claude-test" });
  await client.untilStatus(id, (status) => status === "in_progress");
  expect(world.gateway.backgrounds.inFlight).toBe(1);
  release();
  await client.untilEnded(id);
  await waitFor(() => world.gateway.backgrounds.inFlight === 0, "its end to be stored");
  expect(await world.running.store.background.find(caller.key.id, id)).toBeNull();
});

test("events are deleted an hour after the end, and the response stays", async () => {
  const created = await client.fetch("POST", "", {
    model: "gpt-test",
    input: "One",
    background: true,
    stream: true,
  });
  const { id, whole } = await begun(created);
  await whole();
  await waitFor(() => world.gateway.backgrounds.inFlight === 0, "its end to be stored");
  await world.gateway.backgrounds.prune(Date.now() + 59 * 60_000);
  expect(await client.events(id)).toContain("response.completed");
  await world.gateway.backgrounds.prune(Date.now() + 61 * 60_000);
  expect((await client.call("GET", `/${id}?stream=true`)).body.error.param).toBe("stream");
  expect(await world.running.store.background.countEvents(id)).toBe(0);
  expect((await client.get(id)).status).toBe("completed");
});
