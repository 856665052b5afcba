import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { LargeBodies } from "../../src/gateway/body-worker/body-worker.ts";
import { json, sse } from "../support/answers.ts";
import { ConversationWorld } from "./conversation-world.ts";
import { type Item, responseFrom, say, type TurnWorld } from "./turn-world.ts";
import { streamEvents } from "./wire-answers.ts";
import type { World } from "./world.ts";

const running = spyOn(LargeBodies.prototype, "runRequest");
const jobs = () => running.mock.calls.map(([job]) => job.name);
const reading = spyOn(LargeBodies.prototype, "runResponse");
const responseJobs = () => reading.mock.calls.map(([job]) => job.name);

let conversations: ConversationWorld;
let turns: TurnWorld;
let world: World;
beforeAll(async () => {
  conversations = await ConversationWorld.start();
  ({ turns } = conversations);
  ({ world } = turns);
  world.write("seal", Buffer.alloc(32, 1).toString("base64"));
});
beforeEach(() => turns.reset());
afterEach(async () => {
  await world.settled();
  running.mockClear();
  reading.mockClear();
});
afterAll(() => {
  running.mockRestore();
  reading.mockRestore();
  return world[Symbol.asyncDispose]();
});

/** Every kilobyte is another, so that none can be in another's place. */
function longText(kilobytes: number): string {
  return Array.from({ length: kilobytes }, (_, place) => `${place} `.padEnd(1024, "x")).join("");
}

const message = (text: string): JsonObject => ({
  id: `msg_${text.length}`,
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

/** The model's window is none for text of this size. */
const picture = (text: string): JsonObject => ({
  role: "user",
  content: [{ type: "input_image", image_url: `data:image/png;base64,${text.replaceAll(" ", "A")}` }],
});

async function got(path: string): Promise<string> {
  const headers = { authorization: `Bearer ${turns.caller.secret}` };
  return (await fetch(`${world.running.url}/v1/${path}`, { headers })).text();
}

describe.each(["as it is", "sealed"])("a stored response of megabytes, %s,", (how) => {
  beforeAll(() =>
    world.reload((config) =>
      how === "sealed" ? `[responses]\nencryption_key = "file:seal"\n${config}` : config,
    ),
  );
  afterAll(() => world.reload((config) => config));

  test("is got as it was answered, and gives its memory back", async () => {
    const output = [message(longText(3000)), message(longText(2000))];
    world.provider.script((request) => json(responseFrom(request, output)));
    const first = await turns.create({ input: "One" });
    const shown = { ...first, store: true, previous_response_id: null };
    expect(JSON.parse(await got(`responses/${first.id}`))).toEqual(shown as never);
    await turns.call("DELETE", first.id);
    expect(JSON.parse(await got(`responses/${first.id}`)).error.code).toBe("not_found");
    await world.settled();
    expect([world.gateway.answers.takenBytes, world.gateway.bodies.takenBytes]).toEqual([0, 0]);
  });

  test("is read on another thread, as one of thousands of items is, also from a stream", async () => {
    const short = (at: number) => ({ ...message(""), id: `msg_${at}` });
    const outputs = [[message(longText(1500))], Array.from({ length: 3000 }, (_, at) => short(at))];
    for (const output of outputs) {
      const ended = (shown: JsonObject) => ({ type: "response.completed", response: shown });
      const done = output.map((item, at) => ({ type: "response.output_item.done", output_index: at, item }));
      for (const isListed of [true, false]) {
        world.provider.script((request) => {
          const response = responseFrom(request, isListed ? output : []);
          return sse([...done, ended(response)].map((data) => `data: ${JSON.stringify(data)}\n\n`).join(""));
        });
        reading.mockClear();
        const { id } = await turns.streamed({ input: "One" });
        expect(responseJobs()).toContain("ended");
        expect(JSON.parse(await got(`responses/${id}`)).output).toEqual(output);
      }
      world.provider.script((request) => json(responseFrom(request, output)));
      reading.mockClear();
      const { id } = await turns.create({ input: "One" });
      expect(responseJobs()).toEqual(["answer", "ended"]);
      expect(JSON.parse(await got(`responses/${id}`)).output).toEqual(output);
    }
  });

  test("is written a few parts at a time, so that no more than those are in memory twice", async () => {
    const { store } = world.running;
    const record = store.recordResponsePart;
    let [written, open, most] = [0, 0, 0];
    const counting = spyOn(store, "recordResponsePart").mockImplementation(async (part) => {
      open += 1;
      most = Math.max(most, open);
      await record.call(store, part);
      open -= 1;
      written += 1;
    });
    world.provider.script((request) => json(responseFrom(request, [message(longText(6000))])));
    const { id } = await turns.create({ input: "One" });
    counting.mockRestore();
    expect(JSON.parse(await got(`responses/${id}`)).id).toBe(id);
    expect(written).toBeGreaterThan(20);
    expect(most).toBeWithin(1, 9);
  });

  test("is continued with every byte of it", async () => {
    const [long, longer] = [picture(longText(1500)), picture(longText(2500))];
    const first = await turns.create({ input: [long] });
    const second = await turns.create({ input: [longer], previous_response_id: first.id });
    await turns.create({ input: [say("Three")], previous_response_id: second.id });
    const sent = turns.lastBody()["input"] as Item[];
    expect(sent).toEqual([long, ...first.output, longer, ...second.output, say("Three")] as never);
  });

  test("is listed on another thread, as it would be otherwise", async () => {
    const items = [say("short"), { ...say(longText(1500)), id: "msg_long" }];
    const { id } = await turns.create({ input: items });
    await world.settled();
    running.mockClear();
    const list = JSON.parse(await got(`responses/${id}/input_items?order=asc`));
    expect(jobs()).toEqual(["shown"]);
    const page = JSON.parse(await got(`responses/${id}/input_items?order=asc&limit=1`));
    expect(jobs()).toEqual(["shown"]);
    expect(page).toMatchObject({ data: [list.data[0]], first_id: list.first_id, has_more: true });
    expect(list).toEqual({
      object: "list",
      data: [page.data[0], { ...items[1], status: "completed", content: expect.any(Array) }],
      first_id: page.first_id,
      last_id: "msg_long",
      has_more: false,
    });
    expect(list.data[1].content).toEqual([{ type: "input_text", text: longText(1500) }]);
  });
});

test("items of megabytes are added to a conversation, listed and shown on another thread", async () => {
  const { call, begin } = conversations;
  const id = await begin(say("One"));
  const long = { ...say(longText(1500)), id: "msg_long" };
  const added = await call("POST", `/${id}/items`, { items: [long] });
  expect(jobs()).toEqual(["read", "shown"]);
  expect(added.body).toMatchObject({ object: "list", first_id: "msg_long", has_more: false });
  const { body } = await call("GET", `/${id}/items/msg_long`);
  expect(body as JsonObject).toEqual(added.body.data[0] as never);
  expect(jobs()).toEqual(["read", "shown", "shown"]);
  await world.settled();
  expect(world.gateway.answers.takenBytes).toBe(0);
});

test("a response of megabytes in a conversation is given its name on another thread", async () => {
  const conversation = await conversations.begin(say("One"));
  world.provider.script((request) => {
    const response = responseFrom(request, [message(longText(1500))]);
    if (request.body["stream"] !== true) return json(response);
    return sse(`data: ${JSON.stringify({ type: "response.completed", response })}\n\n`);
  });
  for (const ask of [turns.create, turns.streamed]) {
    reading.mockClear();
    const answered = await ask({ input: "Two", conversation });
    expect(responseJobs()).toContain("members");
    expect(answered as unknown).toMatchObject({
      previous_response_id: null,
      conversation: { id: conversation },
    });
    expect(answered.output).toEqual([message(longText(1500))] as never);
  }
});

test("a translated response of megabytes is written with the name of its conversation, and not read again for it", async () => {
  const conversation = await conversations.begin(say("One"));
  world.provider.script(sse(streamEvents("chat", { text: longText(1500) }).join("")));
  const answered = await turns.streamed({ model: "chat-test", input: "Two", conversation });
  expect(answered as unknown).toMatchObject({ conversation: { id: conversation } });
  expect(responseJobs()).not.toContain("members");
});
