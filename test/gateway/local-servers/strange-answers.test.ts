import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type Answer, json, sse, text } from "../../support/answers.ts";
import { readStream } from "../../support/sse.ts";
import { hello, paths } from "../wire-answers.ts";
import { type Caller, World } from "../world.ts";

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start();
  caller = await world.creditCaller();
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const nulls = {
  ...{ id: null, object: null, created: null, model: null, system_fingerprint: null, usage: null },
  choices: [{ index: null, message: null, delta: null, finish_reason: null, logprobs: null }],
};
const megabytes = Object.fromEntries(
  Array.from({ length: 100 }, (_, at) => [`x-filler-${at}`, "x".repeat(100_000)]),
);
const page = "<html><title>Sign in to the lab</title></html>";

const answers: Readonly<Record<string, Answer>> = {
  HTML: text(page, "text/html"),
  "HTML under the name of JSON": text(page, "application/json"),
  "HTML under the name of a stream": sse(page),
  "an error with status 200": json({ error: { message: "CUDA out of memory", type: "server_error" } }),
  "an error with status 200 in a stream": sse('data: {"error":{"message":"CUDA out of memory"}}\n\n'),
  null: json(null),
  "nothing but null": json(nulls),
  "nothing but null in a stream": sse(`data: ${JSON.stringify(nulls)}\n\n`),
  "10 MB of headers": { ...json({ choices: [] }), headers: megabytes },
};

describe.each(Object.entries(answers))("a server that answers with %s", (_, answer) => {
  test.each([
    ["chat", false],
    ["chat", true],
    ["responses", true],
    ["messages", false],
  ] as const)("is a failure that costs nothing, in %s, stream: %p", async (dialect, stream) => {
    const before = (await world.chargesOf(caller)).length;
    world.provider.script(answer);
    const limit = dialect === "messages" ? { max_tokens: 100 } : {};
    const body = hello(dialect, "local-test", { stream, ...limit });
    const response = await world.ask(caller, { path: paths[dialect], body });
    if (response.status === 200 && stream) {
      const read = await readStream(response);
      expect(read.text).toMatch(/"error"|response\.failed/);
      expect(read.text).not.toContain("Sign in");
    } else {
      expect(response.status).toBeWithin(500, 505);
      expect(await response.text()).not.toContain("Sign in");
    }
    expect((await world.chargesOf(caller)).slice(before)).toEqual([]);
    expect(world.observed.at(-1)).toMatchObject({ outcome: "failed", charged: 0 });
  });
});
