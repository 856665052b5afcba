import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { type Answer, sse } from "../support/answers.ts";
import { StreamReader } from "../support/sse.ts";
import { hello, paths, streamEvents, usageOf } from "./wire-answers.ts";
import { World } from "./world.ts";

/** An image is content, although it has no text: a client that disconnects once it has one pays for it. */
const tail = `
[[models]]
id = "painter"
provider = "openai"
max_output_tokens = 4096
allow = ["modalities"]
price = { input = 1.0, output = 2.0, image_generation = 40.0 }
`;
let world: World;
beforeAll(async () => {
  world = await World.startCounting({ tail });
}, 60_000);
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const png = `data:image/png;base64,${"iVBORw0KGgo".repeat(200)}`;
const chunk = (delta: object) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "up", choices: [{ index: 0, finish_reason: null, delta }] })}\n\n`;
const image = chunk({
  role: "assistant",
  content: "",
  images: [{ type: "image_url", image_url: { url: png } }],
});

function streaming(...steps: Answer["steps"]): Answer {
  return { ...sse(""), steps };
}

async function leaveAt(path: string, body: object, needle: string) {
  const caller = await world.creditCaller();
  const reader = new StreamReader(await world.ask(caller, { path, body }));
  await reader.until(needle);
  await reader.cancel();
  return world.chargesOf(caller);
}

const drawn = hello("chat", "painter", { stream: true, modalities: ["image", "text"], max_tokens: 4000 });

test("the usage that follows an image of a chat stream is charged", async () => {
  const [, , ...end] = streamEvents("chat", { text: "Done", usage: usageOf("chat", 9, 1300) });
  world.provider.script(streaming({ write: image }, { sleepMs: 200 }, { write: end.join("") }));
  expect(await leaveAt(paths.chat, drawn, "iVBORw")).toEqual([
    { amount: -(9 * 1000 + 1300 * 2000), basis: "measured", outcome: "cancelled" },
  ]);
});

test("without usage, it costs what an image usually has", async () => {
  world.provider.script(streaming({ write: image }, { stall: true }));
  const [charge, ...others] = await leaveAt(paths.chat, drawn, "iVBORw");
  expect(others).toEqual([]);
  expect(charge).toMatchObject({ basis: "estimated", outcome: "cancelled" });
  expect(-(charge?.amount ?? 0)).toBeGreaterThan(1000 * 2000);
  expect(-(charge?.amount ?? 0)).toBeLessThan(1700 * 2000);
});

const [created = ""] = streamEvents("responses", { text: "" });
const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const call = { type: "image_generation_call", id: "ig_1", status: "generating" };
const partial = (index: number) =>
  event("response.image_generation_call.partial_image", {
    item_id: "ig_1",
    output_index: 0,
    partial_image_index: index,
    partial_image_b64: "iVBORw0KGgo",
  });
const painting = hello("responses", "painter", {
  stream: true,
  tools: [{ type: "image_generation", partial_images: 2 }],
});
const begun = [created, event("response.output_item.added", { output_index: 0, item: call }), partial(0)];

test("a partial image of a responses stream costs the call", async () => {
  world.provider.script(streaming({ write: begun.join("") }, { stall: true }));
  const [charge] = await leaveAt(paths.responses, painting, "iVBORw");
  expect(charge).toMatchObject({ outcome: "cancelled" });
  expect(-(charge?.amount ?? 0)).toBeGreaterThanOrEqual(40_000_000);
});

test("a call whose partial images and result have come counts once", async () => {
  const item = { ...call, status: "completed", result: "iVBORw0KGgo" };
  const done = [...begun, partial(1), event("response.output_item.done", { output_index: 0, item })];
  world.provider.script(streaming({ write: done.join("") }, { stall: true }));
  const [charge] = await leaveAt(paths.responses, painting, "output_item.done");
  expect(-(charge?.amount ?? 0)).toBeGreaterThanOrEqual(40_000_000);
  expect(-(charge?.amount ?? 0)).toBeLessThan(50_000_000);
});
