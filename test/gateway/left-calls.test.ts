import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { json, sse } from "../support/answers.ts";
import { StreamReader } from "../support/sse.ts";
import { hello, paths } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

/** What a call does is written by the model, in whatever field: a client that disconnects once it has the call pays for that. */
let world: World;
beforeAll(async () => {
  world = await World.startCounting({});
}, 60_000);
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const text = "find . -name '*.ts' | xargs grep -l sluice | sort | uniq -c";
const textNano = 15 * 2_000;
const head = {
  id: "resp_up",
  object: "response",
  created_at: 1,
  model: "up",
  status: "in_progress",
  output: [],
};
const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const created = event("response.created", { response: head });
const spentBy = async (caller: Caller) => -((await world.chargesOf(caller))[0]?.amount ?? 0);

const items = {
  local_shell_call: { action: { type: "exec", command: ["bash", "-lc", text], env: {} } },
  shell_call: { action: { commands: [text] } },
  apply_patch_call: { operation: { type: "create_file", path: "a", diff: text } },
  computer_call: { actions: [{ type: "type", text }] },
  code_interpreter_call: { code: text },
  tool_search_call: { arguments: { query: text } },
};

describe.each(Object.entries(items))("%s", (type, members) => {
  const item = { type, id: "i", call_id: "c", status: "completed", ...members };

  test.each(["output_item.added", "output_item.done"])(
    "in %s is charged when its client disconnects",
    async (name) => {
      const write = created + event(`response.${name}`, { output_index: 0, item });
      world.provider.script({ ...sse(""), steps: [{ write }, { stall: true }] });
      const caller = await world.creditCaller();
      const body = hello("responses", "gpt-test", { stream: true });
      const reader = new StreamReader(await world.ask(caller, { path: paths.responses, body }));
      await reader.until(name);
      await reader.cancel();
      expect(await spentBy(caller)).toBeGreaterThan(textNano);
    },
  );

  test("in a whole response without usage is charged", async () => {
    world.provider.script(json({ ...head, status: "completed", output: [item] } as never));
    const caller = await world.creditCaller();
    await world.ask(caller, { path: paths.responses, body: hello("responses", "gpt-test") });
    expect(await spentBy(caller)).toBeGreaterThan(textNano);
  });
});

test("a call counts once, however often its text comes", async () => {
  const at = { item_id: "i", output_index: 0 };
  const item = { type: "shell_call", id: "i", action: { commands: [text] } };
  const write = [
    event("response.output_item.added", { output_index: 0, item: { ...item, action: { commands: [] } } }),
    event("response.shell_call_command.delta", { ...at, delta: text }),
    event("response.shell_call_command.done", { ...at, command: text }),
    event("response.output_item.done", { output_index: 0, item }),
  ].join("");
  world.provider.script({ ...sse(""), steps: [{ write: created + write }, { stall: true }] });
  const caller = await world.creditCaller();
  const body = hello("responses", "gpt-test", { stream: true });
  const reader = new StreamReader(await world.ask(caller, { path: paths.responses, body }));
  await reader.until("output_item.done");
  await reader.cancel();
  const spent = await spentBy(caller);
  expect(spent).toBeGreaterThan(textNano);
  expect(spent).toBeLessThan(2 * textNano);
});

test("sources that a search has found are not the model's text", async () => {
  const sources = Array.from({ length: 100 }, (_, n) => ({
    type: "url",
    url: `https://example.com/${n}/${text}`,
  }));
  const item = {
    type: "web_search_call",
    id: "ws",
    status: "completed",
    action: { type: "search", query: "canals", sources },
  };
  world.provider.script(json({ ...head, status: "completed", output: [item] } as never));
  const caller = await world.creditCaller();
  await world.ask(caller, { path: paths.responses, body: hello("responses", "gpt-test") });
  expect(await spentBy(caller)).toBeLessThan(textNano);
});

test("a chat call's arguments count in a provider's form, too", async () => {
  const call = {
    index: 0,
    id: "c",
    type: "function",
    function: { name: "run", arguments: { command: text } },
  };
  const choices = [{ index: 0, finish_reason: null, delta: { role: "assistant", tool_calls: [call] } }];
  const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "up", choices };
  world.provider.script({
    ...sse(""),
    steps: [{ write: `data: ${JSON.stringify(chunk)}\n\n` }, { stall: true }],
  });
  const caller = await world.creditCaller();
  const body = hello("chat", "gpt-test", { stream: true });
  const reader = new StreamReader(await world.ask(caller, { path: paths.chat, body }));
  await reader.until("sluice");
  await reader.cancel();
  expect(await spentBy(caller)).toBeGreaterThan(textNano);
});
