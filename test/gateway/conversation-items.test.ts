import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { json } from "../support/answers.ts";
import { ConversationWorld } from "./conversation-world.ts";
import { responseFrom, say, type TurnWorld } from "./turn-world.ts";
import type { World } from "./world.ts";

/** What clients add to a conversation by themselves. */

let turns: TurnWorld;
let world: World;
let create: TurnWorld["create"];
let call: ConversationWorld["call"];
let begin: ConversationWorld["begin"];
let itemsOf: ConversationWorld["itemsOf"];

beforeAll(async () => {
  const conversations = await ConversationWorld.start();
  ({ turns, call, begin, itemsOf } = conversations);
  ({ world, create } = turns);
});
beforeEach(() => turns.reset());
afterAll(() => world[Symbol.asyncDispose]());

type Refusal = { readonly code: string; readonly param: string | null; readonly message: string };

const inItems = ({ code, param, message }: Refusal) => ({
  code,
  param: param?.replaceAll("input[", "items[") ?? null,
  message: message.replaceAll("input[", "items["),
});

const part = (content: Json) => ({ role: "user", content: [content] });
const output = { type: "function_call_output", call_id: "call_1", output: "{}" };

describe("an item that makes no sense", () => {
  test.each<[string, JsonObject]>([
    ["a role that there is not", { type: "message", role: "wizard", content: "x" }],
    ["no role", { type: "message", content: "x" }],
    ["content that is a number", { role: "user", content: 1 }],
    ["content that is an object", { role: "assistant", content: { text: "x" } }],
    ["a part that is none", part("x")],
    ["a part without a type", part({ text: "x" })],
    ["a part without its text", part({ type: "input_text" })],
    ["an image without an address", part({ type: "input_image" })],
    ["a file without data", part({ type: "input_file", filename: "a.pdf" })],
    [
      "an image of the assistant's",
      { role: "assistant", content: [{ type: "input_image", image_url: "x" }] },
    ],
    ["a call without an id", { type: "function_call", name: "f", arguments: "{}" }],
    ["a call without a name", { type: "function_call", call_id: "c", arguments: "{}" }],
    ["arguments that are an object", { type: "function_call", call_id: "c", name: "f", arguments: {} }],
    ["a custom call without a name", { type: "custom_tool_call", call_id: "c", input: "x" }],
    ["an output without an id", { type: "function_call_output", output: "x" }],
    ["an output that is an object", { ...output, output: {} }],
    ["a type that there is not", { type: "banana" }],
    ["a file of somebody else's", part({ type: "input_file", file_id: "file_1" })],
    ["a compaction of somebody else's", { type: "compaction", encrypted_content: "slu1.AAAA" }],
  ])("is refused at once, as a response refuses it: %s", async (_, item) => {
    const { error } = await create({ model: "claude-test", input: [say("One"), item] });
    const id = await begin();
    for (const path of ["", `/${id}/items`]) {
      const { body } = await call("POST", path, { items: [say("One"), item] });
      expect(inItems(body.error)).toEqual(inItems(error));
    }
    expect(await itemsOf(id)).toEqual([]);
    expect(world.provider.requests).toEqual([]);
  });

  test("has a name that some provider would read otherwise, and any may be sent the item later", async () => {
    const { body } = await call("POST", "", { items: [say("One"), { ...say("x"), Type: "reasoning" }] });
    expect([body.error.code, body.error.param]).toEqual(["invalid_request", "items[1].Type"]);
  });

  test("is found in megabytes, too", async () => {
    const items = [say("x".repeat(2_000_000)), { role: "wizard", content: "x" }];
    const { body } = await call("POST", "", { items });
    expect([body.error.code, body.error.param]).toEqual(["invalid_request", "items[1].role"]);
  });

  test("is an order to compact", async () => {
    const { body } = await call("POST", "", { items: [say("One"), { type: "compaction_trigger" }] });
    expect([body.error.code, body.error.param]).toEqual(["invalid_request", "items[1]"]);
  });
});

test("items that only some providers take can be added", async () => {
  const items = [
    { type: "computer_call", id: "cu_1", call_id: "call_1", action: { type: "screenshot" } },
    { type: "shell_call", call_id: "call_2", action: { commands: ["ls"] } },
    { type: "compaction", encrypted_content: "a vendor's own" },
    { type: "program", code: "1 + 1" },
    { type: "a_new_tool_call", call_id: "call_3" },
    { role: "developer", content: [{ type: "input_image", image_url: "https://example.com/a.png" }] },
    part({ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }),
    { type: "web_search_call", id: "ws_1", status: "completed" },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" },
  ];
  const id = await begin(...items);
  expect((await itemsOf(id)).map(({ type }) => type)).toEqual(
    items.map((item) => ("type" in item ? item.type : "message")),
  );
});

describe("the output of a tool", () => {
  const calling = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };

  test("needs its call before it, as in a response", async () => {
    const id = await begin(say("One"));
    const { error } = await create({ conversation: id, input: [output] });
    expect([error.code, error.param]).toEqual(["invalid_request", "input[0].call_id"]);
    for (const [path, items] of [
      ["", [output]],
      ["", [output, calling]],
      ["", [{ ...calling, type: "custom_tool_call", input: "x" }, output]],
      [`/${id}/items`, [output]],
    ] as const) {
      const { body } = await call("POST", path, { items: [...items] });
      const place = items.indexOf(output);
      expect(body.error).toMatchObject({ ...inItems(error), param: `items[${place}].call_id` });
    }
    expect(await itemsOf(id)).toHaveLength(1);
  });

  test("may come with its call, or after it", async () => {
    const id = await begin(calling, output);
    expect(await itemsOf(id)).toHaveLength(2);
    const later = await begin(calling);
    expect((await call("POST", `/${later}/items`, { items: [output] })).status).toBe(200);
  });
});

describe("an id that cannot be a part of an address", () => {
  const odd = [
    "..",
    ".",
    "a/b",
    "/",
    "a%2Fb",
    "%2e%2e",
    "a\\b",
    "a?b",
    "a#b",
    "a\nb",
    "\ud800",
    "x".repeat(513),
  ];

  test.each(odd.map((itemId) => [itemId.slice(0, 20), itemId]))("is refused: %j", async (_, itemId) => {
    const id = await begin(say("One"));
    for (const path of ["", `/${id}/items`]) {
      const { body } = await call("POST", path, { items: [{ ...say("Two"), id: itemId }] });
      expect([body.error.code, body.error.param]).toEqual(["invalid_request", "items[0].id"]);
    }
    expect(await itemsOf(id)).toHaveLength(1);
  });

  test("is replaced where it comes with a response, and the item can be asked for", async () => {
    const message = (itemId: string) => ({
      ...say("Two"),
      role: "assistant",
      id: itemId,
      content: [{ type: "output_text", text: "Two" }],
    });
    world.provider.script((request) => json(responseFrom(request, odd.map(message))));
    const id = await begin();
    const answered = await create({ conversation: id, input: [{ ...say("One"), id: "../x" }] });
    expect(answered.output.map((item) => item.id)).toEqual(odd);
    const items = await itemsOf(id);
    expect(items).toHaveLength(odd.length + 1);
    for (const item of items) {
      expect((await call("GET", `/${id}/items/${encodeURIComponent(item.id)}`)).body as JsonObject).toEqual(
        item,
      );
    }
    for (const item of items) expect((await call("DELETE", `/${id}/items/${item.id}`)).status).toBe(200);
    expect(await itemsOf(id)).toEqual([]);
  });

  test("is none if it only has to be encoded, or is empty", async () => {
    const ids = ["msg_1", "a b", "é", "x=y+z", "a:b@c", "...", "item~1"];
    const id = await begin(...ids.map((itemId) => ({ ...say(itemId), id: itemId })), { ...say("x"), id: "" });
    const items = await itemsOf(id);
    expect(items.map((item) => item.id)).toEqual([...ids, expect.stringMatching(/^item_\w+$/)]);
    for (const itemId of ids) {
      expect((await call("GET", `/${id}/items/${encodeURIComponent(itemId)}`)).body.id).toBe(itemId);
    }
  });
});

describe("a list", () => {
  test.each([
    "0",
    "101",
    "1e1",
    "0x5",
    " 5",
    "5 ",
    "+5",
    "-5",
    "5.0",
    "",
    "٥",
    "05x",
    "NaN",
    "1".repeat(400),
  ])("does not take %j for a number", async (limit) => {
    const id = await begin(say("One"));
    const { id: responseId } = await create({ input: "One" });
    const query = `?limit=${encodeURIComponent(limit)}`;
    for (const { status, body } of [
      await call("GET", `/${id}/items${query}`),
      await turns.call("GET", `${responseId}/input_items${query}`),
    ]) {
      expect([status, body.error.param]).toEqual([400, "limit"]);
    }
  });
});

test("an item that is listed and added to another conversation keeps its id, which no provider sees", async () => {
  const listed = await itemsOf(await begin(say("One")));
  const id = await begin(...listed);
  expect(await itemsOf(id)).toEqual(listed);
  await create({ input: "Two", conversation: id });
  expect(turns.lastText()).toContain("One");
  expect(turns.lastText()).not.toContain(listed[0]?.id ?? "");
});
