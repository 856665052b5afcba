import { expect, test } from "bun:test";
import { sse } from "../../support/answers.ts";
import { dataOf, readStream } from "../../support/sse.ts";
import { hello, paths } from "../wire-answers.ts";
import { World } from "../world.ts";

const head = { id: "chatcmpl-1", created: 1795040362, model: "up", object: "chat.completion.chunk" };
const chunk = (choice: object, more: object = {}) =>
  `data: ${JSON.stringify({ ...head, choices: [{ index: 0, ...choice }], ...more })}\n\n`;

/** LiteLLM 1.106 reports the usage behind the end, with a choice that has nothing in it. */
const stream = [
  chunk({ delta: { role: "assistant", content: "Sluices" } }),
  chunk({ delta: {}, finish_reason: "stop" }),
  chunk({ delta: {} }, { usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 } }),
  "data: [DONE]\n\n",
].join("");

test.each([
  [false, 2],
  [true, 3],
])("LiteLLM's usage is shown to who asked for it: %p", async (asks, chunks) => {
  await using world = await World.start();
  const caller = await world.creditCaller();
  world.provider.script(sse(stream));
  const options = asks ? { stream_options: { include_usage: true } } : {};
  const body = hello("chat", "local-test", { stream: true, ...options });
  const read = await readStream(await world.ask(caller, { path: paths.chat, body }));
  expect(dataOf(read)).toHaveLength(chunks);
  expect(read.text.includes('"usage"')).toBe(asks);
  expect(await world.chargesOf(caller)).toMatchObject([{ basis: "measured", outcome: "completed" }]);
});
