import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Json } from "../../src/base/json.ts";
import { embeddingAnswer, embeddingModels } from "../gateway/metered/embedding-provider.ts";
import { talker } from "../gateway/pairs.ts";
import { type Caller, World } from "../gateway/world.ts";
import { sse } from "../support/answers.ts";

const { FILES_RUN_CALL: name = "chat", FILES_RUN_COUNT: count = "0" } = process.env;

const fixture = (path: string) => readFileSync(new URL(`../support/fixtures/${path}`, import.meta.url));
const messages: Json = [{ role: "user", content: "Hello" }];

const calls: Readonly<
  Record<string, { path: string; body: Json; answer: Parameters<World["provider"]["script"]>[0] }>
> = {
  chat: {
    path: "/v1/chat/completions",
    body: { model: "gpt-test", messages, stream: true },
    answer: () => sse(fixture("chat/text.sse")),
  },
  translated: {
    path: "/v1/messages",
    body: { model: "talker", max_tokens: 100, messages, stream: true },
    answer: () => sse(fixture("responses/text.sse")),
  },
  embeddings: {
    path: "/v1/embeddings",
    body: { model: "embed", input: "Hello" },
    answer: embeddingAnswer,
  },
};

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail: `${talker}${embeddingModels}` });
  caller = await world.creditCaller(100);
});
afterAll(() => world[Symbol.asyncDispose]());

test(`${count} calls of ${name}`, async () => {
  const call = calls[name];
  if (call === undefined) throw new Error(`there is no call ${name}`);
  for (let made = 0; made < Number(count); made += 1) {
    world.provider.script(call.answer);
    const response = await world.ask(caller, call);
    expect(response.status).toBe(200);
    await response.text();
  }
  await world.settled();
});
