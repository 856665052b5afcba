import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { SocketWorld } from "../http/socket/socket-world.ts";

/** Errors repeat what a client has sent, but not all of it: it would be in every log and answer. */

const long = "x".repeat(90_000);
const most = 8_000;

let sockets: SocketWorld;

beforeAll(async () => {
  sockets = await SocketWorld.start("[routes]\nconversations = true\n");
});
beforeEach(() => sockets.turns.reset());
afterAll(() => sockets.world[Symbol.asyncDispose]());

const input = "Hello";
const chained = { type: "message", role: "user", content: "x" };

test.each<[string, string, JsonObject]>([
  ["an id with spaces", "responses", { input: [{ type: "item_reference", id: "x y ".repeat(30_000) }] }],
  ["the id of an item", "responses", { input: [{ type: "item_reference", id: long }] }],
  ["the type of an item", "responses", { input: [{ type: long }] }],
  ["the type of a part", "responses", { input: [{ role: "user", content: [{ type: long }] }] }],
  ["a conversation", "responses", { input, conversation: `conv_${long}` }],
  ["a response", "responses", { input, previous_response_id: `resp_${long}` }],
  ["a model", "responses", { input, model: long }],
  ["the path to a name", "conversations", { items: [{ ...chained, [long]: { Type: 1 } }] }],
  ["the path to a name given twice", "responses", { input: [{ [long]: { TYPE: 1 } }] }],
  ["a tier", "responses", { input, service_tier: long }],
  ["a modality", "responses", { input, modalities: [long] }],
  [
    "a media type",
    "responses",
    {
      input: [
        { role: "user", content: [{ type: "input_image", image_url: `data:image/${long};base64,AAAA` }] },
      ],
    },
  ],
  ["an item of a conversation", "conversations", { items: [{ type: "item_reference", id: long }] }],
  [
    "an item that is there",
    "conversations",
    { items: [1, 2].map(() => ({ ...chained, id: "a".repeat(512) })) },
  ],
  [
    "the call of an output",
    "conversations",
    {
      items: [{ type: "function_call_output", call_id: long, output: "x" }],
    },
  ],
])("an error does not repeat the whole of %s", async (_, route, fields) => {
  const { world, caller } = sockets.turns;
  const body = route === "responses" ? { model: "claude-test", ...fields } : fields;
  const response = await world.ask(caller, { path: `/v1/${route}`, body });
  const answered = await response.text();
  expect(response.status).toBeWithin(400, 500);
  expect(answered.length).toBeLessThan(most);
});

test("an error says what to do nevertheless", async () => {
  const { error } = await sockets.turns.create({ input: [{ type: "item_reference", id: long }] });
  expect(error.message).toStartWith('`input[0].id` is not a stored item of this API key: "xxx');
  expect(error.message).toEndWith('x". Items are not stored with `store: false`; send the item itself.');
  expect(error.message.length).toBeLessThan(300);
});

test("an error frame does not repeat the whole of a lane's name", async () => {
  using socket = await sockets.open();
  const frame = await socket.ask({ input, stream_id: long });
  expect(frame.error.code).toBe("invalid_stream_id");
  expect(JSON.stringify(frame).length).toBeLessThan(most);
});
