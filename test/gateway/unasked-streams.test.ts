import { afterAll, beforeAll, expect, test } from "bun:test";
import { largeEventBytes } from "../../src/dialects/sse/event.ts";
import { sse } from "../support/answers.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  const price = "{ input = 1.0, output = 2.0, web_search = 10.0 }";
  const model = `[[models]]\nid = "searching"\nprovider = "anthropic"\nmax_output_tokens = 100\nprice = ${price}\n`;
  world = await World.start({ tail: model });
});
afterAll(() => world[Symbol.asyncDispose]());

const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

test("searches in a stream that nobody asked for are counted once each, around a large event", async () => {
  const caller = await world.creditCaller();
  const search = (index: number) =>
    event("content_block_start", {
      index,
      content_block: { type: "server_tool_use", id: `s${index}`, name: "web_search", input: {} },
    }) + event("content_block_stop", { index });
  const message = { id: "m", type: "message", role: "assistant", model: "up", content: [] };
  const large = event("content_block_delta", {
    index: 1,
    delta: { type: "text_delta", text: 'a"'.repeat(largeEventBytes / 2) },
  });
  const events = [
    event("message_start", { message: { ...message, usage: { input_tokens: 100, output_tokens: 0 } } }),
    search(0),
    event("content_block_start", { index: 1, content_block: { type: "text", text: "" } }),
    large,
    event("content_block_stop", { index: 1 }),
    search(2),
    search(3),
    event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 20 } }),
    event("message_stop", {}),
  ];
  world.provider.script(sse(events.join("")));
  const tools = [{ type: "web_search_20250305", name: "web_search" }];
  const body = { model: "searching", max_tokens: 100, tools, messages: [{ role: "user", content: "Hello" }] };
  const response = await world.ask(caller, { path: "/v1/messages", body });
  expect(response.status).toBe(200);
  await response.text();
  // Three searches at 10 USD per thousand.
  const amount = -(100 * 1_000 + 20 * 2_000 + 3 * 10_000_000);
  expect(await world.chargesOf(caller)).toEqual([{ amount, basis: "measured", outcome: "completed" }]);
});
