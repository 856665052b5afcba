import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { type Answer, json } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { hello, paths, streamAnswer, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

/** 100 tokens of input and 10 of output, in millionths of a credit, at the rates of each tier. */
const [usual, flex, priority, fast, us] = [120, 60, 360, 720, 350];

const price = `{ input = 1.0, output = 2.0, tiers = { flex = { input = 0.5, output = 1.0 },
  priority = { input = 3.0, output = 6.0 }, fast = { input = 6.0, output = 12.0 },
  us = { input = 1.5, output = 20.0 } } }`.replaceAll("\n", " ");

const models = ["openai", "anthropic"].map(
  (provider) => `
[[models]]
id = "${provider}-tiers"
provider = "${provider}"
max_output_tokens = 100
price = ${price}
`,
);

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: models.join("") });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

interface Call {
  readonly client: BodyDialectName;
  readonly model: string;
  readonly asked: JsonObject;
  readonly answer: Answer;
}

/** The status that a client gets, and what it is charged, in millionths of a credit. */
async function statusAndCost({ client, model, asked, answer }: Call): Promise<readonly [number, number]> {
  const caller = await world.creditCaller();
  world.provider.script(answer);
  const response = await world.ask(caller, {
    path: paths[client],
    body: hello(client, model, { max_tokens: 100, ...asked }),
  });
  await response.text();
  const charges = await world.chargesOf(caller);
  return [response.status, charges.reduce((sum, { amount }) => sum - amount, 0) / 1000];
}

/** What the client asks for, what the provider reports, and whose price is charged. */
const served: readonly (readonly [JsonObject, JsonObject, number])[] = [
  [{ speed: "fast" }, { service_tier: "standard", speed: "fast" }, fast],
  [{ speed: "fast" }, { service_tier: "standard" }, fast],
  [{ speed: "fast" }, { service_tier: "standard", speed: null }, fast],
  [{ speed: "fast" }, { service_tier: "standard", speed: "standard" }, usual],
  [{ speed: "fast" }, { speed: "hasty" }, fast],
  [{}, { service_tier: "standard", speed: "fast" }, fast],
  [{}, { speed: "hasty" }, usual],
  [{}, { speed: "constructor" }, usual],
  [{ inference_geo: "us" }, { service_tier: "standard", inference_geo: "us" }, us],
  [{ inference_geo: "us" }, { service_tier: "standard" }, us],
  [{ inference_geo: "us" }, { inference_geo: "global" }, usual],
  [{ inference_geo: "us" }, { inference_geo: "not_available" }, usual],
  // A workspace may have a place of its own.
  [{}, { inference_geo: "us" }, us],
  [{ service_tier: "auto" }, { service_tier: "priority", inference_geo: "global" }, priority],
  [{ service_tier: "priority" }, { service_tier: "flex" }, flex],
  [{ service_tier: "flex" }, { service_tier: "on_demand" }, usual],
  // Two at once cost the highest rates of both: 6 and 20.
  [{ speed: "fast" }, { speed: "fast", inference_geo: "us" }, 800],
];

const usage = { input_tokens: 100, output_tokens: 10 };

for (const [asked, reported, micros] of served) {
  const name = `${JSON.stringify(asked)} that Anthropic serves as ${JSON.stringify(reported)}`;
  test(`${name} is charged as it was served, whole, streamed and failed`, async () => {
    const call = { client: "messages", model: "anthropic-tiers", asked } as const;
    const said = { text: "Hi", usage: { ...usage, ...reported } };
    expect(await statusAndCost({ ...call, answer: wholeAnswer("messages", said) })).toEqual([200, micros]);
    const stream = { text: "Hi", firstUsage: said.usage, usage: { output_tokens: 10 } };
    const streamed = { ...call, asked: { ...asked, stream: true } };
    expect(await statusAndCost({ ...streamed, answer: streamAnswer("messages", stream) })).toEqual([
      200,
      micros,
    ]);
    const error = { type: "api_error", message: "No." };
    const failed = json({ type: "error", error, usage: said.usage });
    expect(await statusAndCost({ ...call, answer: failed })).toEqual([502, micros]);
  });
}

test("a tier that Anthropic chose is charged where the answer is translated, too", async () => {
  const reported = { ...usage, service_tier: "standard", speed: "standard", inference_geo: "us" };
  const call = { client: "chat", model: "anthropic-tiers", asked: {} } as const;
  const whole = wholeAnswer("messages", { text: "Hi", usage: reported });
  expect(await statusAndCost({ ...call, answer: whole })).toEqual([200, us]);
  const answer = streamAnswer("messages", { text: "Hi", firstUsage: reported, usage: { output_tokens: 10 } });
  expect(await statusAndCost({ ...call, answer, asked: { stream: true } })).toEqual([200, us]);
  // A provider that streams although it was not asked to.
  expect(await statusAndCost({ ...call, answer })).toEqual([200, us]);
});

for (const client of ["chat", "responses"] as const) {
  test(`a tier of OpenAI's that is reported by another name costs what was asked for, on ${client}`, async () => {
    const answer = wholeAnswer(client, {
      text: "Hi",
      usage: { ...usageOf(client, 100, 10), service_tier: "hasty" },
    });
    const call = { client, model: "openai-tiers", answer } as const;
    expect(await statusAndCost({ ...call, asked: { service_tier: "fast" } })).toEqual([200, fast]);
    expect(await statusAndCost({ ...call, asked: { service_tier: "auto" } })).toEqual([200, usual]);
  });
}
