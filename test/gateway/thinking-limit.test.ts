import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Caller, World } from "./world.ts";

let world: World;
let caller: Caller;

const price = "price = { input = 1.0, output = 2.0 }";
const tiny = `
[[models]]
id = "claude-tiny"
provider = "anthropic"
upstream_model = "claude-upstream"
max_output_tokens = 1000
${price}
`;

beforeAll(async () => {
  world = await World.start({ tail: tiny });
  caller = await world.creditCaller();
});
afterAll(() => world[Symbol.asyncDispose]());

async function sent(fields: object) {
  world.provider.reset();
  const messages = [{ role: "user", content: "hi" }];
  const body = { model: "claude-test", messages, ...fields };
  const response = await world.ask(caller, { path: "/v1/messages", body });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  expect(world.provider.requests).toHaveLength(1);
  return { body: world.provider.requests[0]?.body ?? {}, dropped: response.headers.get("x-sluice-dropped") };
}

function thinking(budget: number) {
  return { type: "enabled", budget_tokens: budget, display: "summarized" };
}

describe("a capped max_tokens lowers the budget for thinking with it (the model's limit is 4096)", () => {
  const cases: readonly [string, number, number, number][] = [
    ["the answer keeps its room", 6096, 5096, 3096],
    ["thinking keeps half where the answer had more", 64_000, 32_000, 2048],
    ["a budget that fits already stays", 64_000, 2000, 2000],
    ["one that left nothing to the answer leaves it something", 8000, 8000, 4095],
    ["the least budget stays", 64_000, 1024, 1024],
  ];

  test.each(cases)("%s: %i tokens with %i for thinking", async (_name, asked, budget, expected) => {
    const { body, dropped } = await sent({ max_tokens: asked, thinking: thinking(budget) });
    expect(body["max_tokens"]).toBe(4096);
    expect(body["thinking"]).toEqual(thinking(expected));
    expect(dropped).toBeNull();
  });

  test("in a large body too", async () => {
    const source = { type: "base64", media_type: "image/png", data: "A".repeat(1_100_000) };
    const messages = [{ role: "user", content: [{ type: "image", source }] }];
    const { body } = await sent({ max_tokens: 64_000, thinking: thinking(32_000), messages });
    expect(body).toMatchObject({ max_tokens: 4096, thinking: thinking(2048) });
  });

  test("a limit that was not capped changes nothing, nor does thinking without a budget", async () => {
    const uncapped = await sent({ max_tokens: 2000, thinking: thinking(3000) });
    expect(uncapped.body).toMatchObject({ max_tokens: 2000, thinking: thinking(3000) });
    for (const type of ["adaptive", "disabled"]) {
      const { body } = await sent({ max_tokens: 64_000, thinking: { type } });
      expect(body).toMatchObject({ max_tokens: 4096, thinking: { type } });
    }
  });
});

test("a limit below the provider's least budget leaves no thinking, which is reported", async () => {
  const capped = await sent({ model: "claude-tiny", max_tokens: 8000, thinking: thinking(2000) });
  expect(capped.body).toMatchObject({ max_tokens: 1000, thinking: { type: "disabled" } });
  expect(capped.dropped).toBe("thinking");
  const byDefault = await sent({ thinking: thinking(2000) });
  expect(byDefault.body).toMatchObject({ max_tokens: 1024, thinking: { type: "disabled" } });
  expect(byDefault.dropped).toBe("thinking");
});

test("a provider of another dialect has no such rule: the budget that was asked for decides on the effort", async () => {
  const { body } = await sent({ model: "gpt-test", max_tokens: 64_000, thinking: thinking(4096) });
  expect(body["max_output_tokens"]).toBe(4096);
  expect(JSON.stringify(body)).not.toContain("disabled");
});
