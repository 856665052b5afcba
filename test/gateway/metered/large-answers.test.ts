import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { json, text as textAnswer } from "../../support/answers.ts";
import { World } from "../world.ts";
import { embeddingModels } from "./embedding-provider.ts";
import { meteredCases, meteredModels } from "./routes.ts";

let world: World;
const jobs: string[] = [];
beforeAll(async () => {
  world = await World.start({ tail: `${embeddingModels}\n${meteredModels()}` });
  const { largeBodies } = world.gateway;
  const run = largeBodies.runResponse.bind(largeBodies);
  largeBodies.runResponse = (job, input) => {
    jobs.push(job.name);
    return run(job, input);
  };
});
afterAll(() => world[Symbol.asyncDispose]());

const items = (count: number) => `[${"{},".repeat(count)}{}]`;
const levels = 200_000;

/** Answers up to a value of any kind, and what comes behind it. */
const around: Readonly<Record<string, readonly [string, string]>> = {
  embeddings: [
    '{"data":[{"index":0,"embedding":[0.5]},{"index":1,"embedding":[0.5]}],"usage":{"prompt_tokens":3,"total_tokens":3,"x":',
    "}}",
  ],
  rerank: ['{"results":[],"meta":{"billed_units":{"search_units":3},"x":', "}}"],
  completions: [
    '{"id":"1","choices":[{"index":0,"text":"go"}],"usage":{"prompt_tokens":3,"completion_tokens":2},"x":',
    "}",
  ],
  images: ['{"data":[{"url":"a"},{"url":"b"}],"usage":{"x":', "}}"],
  transcriptions: ['{"text":"hello","usage":{"type":"duration","seconds":3},"x":', "}"],
  moderations: ['{"results":[],"x":{"y":', "}}"],
};

describe.each(Object.entries(around))("an answer to %s", (name, [before, after]) => {
  const route = meteredCases[name];
  const ask = async (value: string) => {
    jobs.length = 0;
    const body = before + value + after;
    world.provider.script(textAnswer(body, "application/json"));
    const caller = await world.creditCaller(1);
    const path = route?.path ?? "";
    const response = await world.ask(caller, { path, body: { model: `${name}-model`, ...route?.body } });
    return { body, response };
  };

  test("of many values passes, and is not parsed on the event loop", async () => {
    const { body, response } = await ask(items(400_000));
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(body);
    expect(jobs).toEqual(["metered"]);
    expect(Number(response.headers.get("x-sluice-cost"))).toBe(route?.cost ?? 0);
  });

  test("that nests without end is no fault of the gateway", async () => {
    const { response } = await ask("[".repeat(levels) + "]".repeat(levels));
    expect([200, 502]).toContain(response.status);
    expect(world.gateway.accounts.openHolds).toBe(0);
  });
});

test.each(["completions", "transcriptions"])(
  "many values are many for %s, however few bytes they take",
  async (name) => {
    const [before, after] = around[name] ?? ["", ""];
    jobs.length = 0;
    world.provider.script(textAnswer(before + items(30_000) + after, "application/json"));
    const { path = "", body } = meteredCases[name] ?? {};
    const caller = await world.creditCaller(1);
    expect((await world.ask(caller, { path, body: { model: `${name}-model`, ...body } })).status).toBe(200);
    expect(jobs).toEqual(["metered"]);
  },
);

test("a large answer keeps what its headers say: how many tokens it took, and of what type it is", async () => {
  const caller = await world.creditCaller(1);
  const embeddings = { float: [Array.from({ length: 200_000 }, (_, index) => index + 0.5)] };
  const headers = { "x-amzn-bedrock-input-token-count": "7" };
  world.provider.script(json({ embeddings }, { headers }));
  const body = { model: "embed-bedrock-cohere", input: "one" };
  expect((await world.ask(caller, { path: "/v1/embeddings", body })).status).toBe(200);
  expect(await world.chargesOf(caller)).toMatchObject([{ amount: -7000, basis: "measured" }]);
  world.provider.script(textAnswer("mp3".repeat(500_000), "audio/mpeg"));
  const spoken = await world.ask(caller, {
    path: "/v1/audio/speech",
    body: { model: "speech-model", input: "hello", voice: "alloy" },
    headers: { "idempotency-key": "spoken" },
  });
  expect(spoken.headers.get("content-type")).toBe("audio/mpeg");
});
