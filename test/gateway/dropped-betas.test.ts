import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Caller, World } from "./world.ts";

let world: World;
let caller: Caller;

const gemini = `
[providers.gemini]
kind = "gemini"
base_url = "PROVIDER_URL"
api_key = "env:TEST_GEMINI_KEY"
[[models]]
id = "gemini-test"
provider = "gemini"
upstream_model = "gemini-3.1-pro-preview"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0 }
`;

beforeAll(async () => {
  world = await World.start({ tail: gemini });
  caller = await world.creditCaller();
});
afterAll(() => world[Symbol.asyncDispose]());

async function droppedBy(model: string, headers: Record<string, string>, content: unknown = "hi") {
  const body = { model, max_tokens: 50, messages: [{ role: "user", content }] };
  const answer = await world.ask(caller, { path: "/v1/messages", body, headers });
  expect(answer.status).toBe(200);
  await answer.text();
  return answer.headers.get("x-sluice-dropped");
}

const beta = { "anthropic-beta": "context-1m-2025-08-07,effort-2025-11-24" };

test.each(["local-test", "gpt-test", "gemini-test"])(
  "betas that %s knows nothing of are named",
  async (model) => {
    expect(await droppedBy(model, beta)).toBe("anthropic-beta");
    expect(await droppedBy(model, {})).toBeNull();
  },
);

test("so they are with a large body", async () => {
  const source = { type: "base64", media_type: "image/png", data: "A".repeat(1_100_000) };
  expect(await droppedBy("gpt-test", beta, [{ type: "image", source }])).toBe("anthropic-beta");
});

test("Anthropic gets them", async () => {
  expect(await droppedBy("claude-test", beta)).toBeNull();
  expect(world.provider.requests.at(-1)?.headers["anthropic-beta"]).toBe(beta["anthropic-beta"]);
});
