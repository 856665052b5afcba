import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { sse } from "../support/answers.ts";
import { hello, paths, streamEvents } from "./wire-answers.ts";
import { World } from "./world.ts";

const text = "Sluices keep the canal navigable.";

let world: World;
beforeAll(async () => {
  world = await World.start();
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const responses = streamEvents("responses", { text });
const messages = streamEvents("messages", { text });
const only = (events: readonly string[], ...types: readonly string[]) =>
  events.filter((event) => types.some((type) => event.startsWith(`event: ${type}\n`)));
const emptied = (event: string) => event.replace(/"output":\[.*\]/, '"output":[]');
const silenced = (event: string) => event.replace(/"delta":".*"/, '"delta":""');
const call = { type: "function_call", call_id: "c", name: text, arguments: "" };
const sseOf = (event: { readonly type: string; readonly [name: string]: unknown }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const [begun, ended] = ["response.created", "response.completed"] as const;

test.each([
  ["only in the response that ends it", "responses", only(responses, begun, ended)],
  [
    "whole, alone, in its item and in the response",
    "responses",
    only(responses, begun, "response.output_text.done", "response.output_item.done", ended),
  ],
  ["whole and alone", "responses", only(responses, begun, "response.output_text.done", ended).map(emptied)],
  ["whole in its item", "responses", only(responses, begun, "response.output_item.done", ended).map(emptied)],
  ["in deltas and whole", "responses", responses],
  [
    "in items without numbers, and in the response",
    "responses",
    responses.map((event) => event.replace('"output_index":0,', "")),
  ],
  [
    "in numbered items, with an empty delta that has no number",
    "responses",
    [
      ...only(responses, begun),
      sseOf({ type: "response.audio.transcript.delta", delta: "" }),
      ...responses.filter((event) => !only(responses, begun).includes(event)),
    ],
  ],
  [
    "as the name of a call that begins, and in the response",
    "responses",
    [
      ...only(responses, begun),
      sseOf({ type: "response.output_item.added", output_index: 0, item: call }),
      sseOf({ type: ended, response: { id: "r", status: "completed", output: [call] } }),
    ],
  ],
  [
    "whole, and then in deltas",
    "responses",
    [
      ...only(responses, begun, "response.output_text.done"),
      ...only(responses, "response.output_text.delta", ended).map(emptied),
    ],
  ],
  [
    "whole after an empty delta",
    "responses",
    [
      ...only(responses, begun),
      ...only(responses, "response.output_text.delta").slice(0, 1).map(silenced),
      ...only(responses, "response.output_text.done", ended),
    ],
  ],
  [
    "only in the response that ends it, after an empty delta",
    "responses",
    [
      ...only(responses, begun),
      ...only(responses, "response.output_text.delta").slice(0, 1).map(silenced),
      ...only(responses, ended),
    ],
  ],
  [
    "in part in deltas, and whole in its item",
    "responses",
    [
      ...only(responses, begun),
      ...only(responses, "response.output_text.delta").slice(0, 2),
      ...only(responses, "response.output_item.done", ended),
    ],
  ],
  [
    "in the message that begins it",
    "messages",
    only(messages, "message_start", "message_delta", "message_stop").map((event) =>
      event.replace('"content":[]', `"content":[{"type":"text","text":${JSON.stringify(text)}}]`),
    ),
  ],
] as const)("a text without figures that comes %s is counted once", async (_, dialect, events) => {
  const caller = await world.creditCaller();
  world.provider.script(sse(events.join("")));
  const model = dialect === "messages" ? "claude-test" : "gpt-test";
  const body = hello(dialect, model, { stream: true });
  const response = await world.ask(caller, { path: paths[dialect], body });
  expect(await response.text()).toContain("navigable");
  // 5 tokens of the request and 9 of the text, at 1 and 2 USD per million.
  expect(await world.chargesOf(caller)).toEqual([
    { amount: -(5 * 1_000 + 9 * 2_000), basis: "estimated", outcome: "completed" },
  ]);
});
