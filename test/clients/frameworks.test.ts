import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { frameworkErrand } from "./agents/framework-errand.ts";
import { type AgentProvider, startAgentProvider } from "./agents/provider.ts";
import { speakerNames } from "./conversation/speakers.ts";
import { aiSdkByDefault } from "./frameworks/ai-sdk.ts";
import { expectedCalls } from "./frameworks/framework.ts";
import { langGraph } from "./frameworks/langgraph.ts";
import { openAiAgents, openAiAgentsOnSocket } from "./frameworks/openai-agents.ts";
import { startWorld, type World } from "./world.ts";

/** Frameworks that run an agent's loop by themselves, in every dialect that they speak, on every provider dialect. */
let world: World<AgentProvider>;

beforeAll(async () => {
  world = await startWorld(startAgentProvider());
}, 120_000);

beforeEach(() => world.provider.send(frameworkErrand));

afterAll(() => world.dispose());

describe.each(
  [openAiAgents, openAiAgentsOnSocket, langGraph, aiSdkByDefault].map(
    (framework) => [framework.name, framework] as const,
  ),
)("%s", (_, framework) => {
  const ways = framework.dialects.flatMap((dialect) =>
    speakerNames.flatMap((provider) =>
      [false, true].map((stream) => [dialect, provider, stream ? "streamed" : "whole"] as const),
    ),
  );
  test.each(ways)("runs its tools in %s on a provider of %s, %s", async (dialect, provider, way) => {
    const calls: string[] = [];
    const access = world.access(provider);
    const text = await framework.run({ access, dialect, stream: way === "streamed", calls });
    expect(world.provider.complaints).toEqual([]);
    expect(text).toBe(frameworkErrand.farewell);
    expect(calls).toEqual(expectedCalls);
    // Nothing was asked twice.
    expect(world.provider.steps).toEqual([0, 1, 2]);
  });
});

// dify-plugin-sdks, interfaces/model/openai_compatible/llm.py. What is answered otherwise cannot be added as a model.
test.each(speakerNames)("Dify looks whether a model of a provider of %s is there", async (dialect) => {
  const { url, key, model } = world.access(dialect);
  const look = (options: object) =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "ping" }], ...options }),
    });
  for (const tokens of [1, 5]) {
    const whole = await look({ max_tokens: tokens });
    expect([whole.status, await whole.json()]).toMatchObject([200, { object: "chat.completion" }]);
  }
  const streamed = await look({ max_tokens: 10, stream: true });
  expect([streamed.status, await streamed.text()]).toEqual([200, expect.stringContaining("data: [DONE]")]);
  expect(world.provider.complaints).toEqual([]);
});
