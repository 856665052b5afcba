import { afterAll, beforeAll, expect, test } from "bun:test";
import { type ConversationProvider, startConversationProvider } from "./conversation/provider.ts";
import { textScenario } from "./conversation/scenarios.ts";
import { speakerNames } from "./conversation/speakers.ts";
import { clients } from "./drivers/all.ts";
import { startWorld, type World } from "./world.ts";

let world: World<ConversationProvider>;

beforeAll(async () => {
  world = await startWorld(startConversationProvider([textScenario]));
}, 120_000);

afterAll(() => world.dispose());

async function spent(): Promise<number> {
  const { key, url } = world.access("chat");
  const response = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
  const { credits } = (await response.json()) as { credits: { used: number } };
  return credits.used;
}

const cases = clients.flatMap((client) =>
  speakerNames.flatMap((provider) => [false, true].map((stream) => [client, provider, stream] as const)),
);

test("an answer costs the same on every pair, streamed or not", async () => {
  const { input = 0, cached = 0, output = 0 } = textScenario.turns[0]?.usage ?? {};
  const expected = ((input - cached) * 1 + cached * 0.1 + output * 2) / 1_000_000;
  const wrong: string[] = [];
  for (const [client, provider, stream] of cases) {
    const before = await spent();
    await client.converse(world.access(provider), textScenario.ask, stream);
    const cost = (await spent()) - before;
    if (Math.abs(cost - expected) > 1e-9) wrong.push(`${client.name} on ${provider}, ${stream}: ${cost}`);
  }
  expect(expected).toBeGreaterThan(0);
  expect(wrong).toEqual([]);
});
