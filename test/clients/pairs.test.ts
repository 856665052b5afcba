import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { type ConversationProvider, startConversationProvider } from "./conversation/provider.ts";
import type { Scenario } from "./conversation/scenario.ts";
import { badScenarios, goodScenarios } from "./conversation/scenarios.ts";
import { type SpeakerName, speakerNames } from "./conversation/speakers.ts";
import { clients } from "./drivers/all.ts";
import type { Client } from "./drivers/client.ts";
import { failureOf, repliesTo, understoodAs } from "./expectations.ts";
import { startWorld, type World } from "./world.ts";

/**
 * Every client dialect on every provider dialect, through two client libraries for each, streamed and whole,
 * in every scenario. The provider checks what it is asked; here stands what the client must understand.
 */
let world: World<ConversationProvider>;

beforeAll(async () => {
  world = await startWorld(startConversationProvider([...goodScenarios, ...badScenarios]));
}, 120_000);

beforeEach(() => world.provider.forget());

afterAll(() => world.dispose());

for (const client of clients) {
  for (const provider of speakerNames) {
    describe(`${client.name} (${client.dialect}) on a provider of ${provider}`, () => {
      for (const stream of [false, true]) {
        const way = stream ? "streamed" : "whole";
        test.each(goodScenarios.map((scenario) => [scenario.name, scenario] as const))(
          `${way}: %s`,
          async (_, scenario) => {
            const answers = await converse(client, provider, scenario, stream);
            expect(world.provider.complaints).toEqual([]);
            expect(answers).toEqual(
              scenario.turns.map((turn) => understoodAs(turn, provider, client.hidesRefusals)),
            );
            expect(world.provider.replies).toEqual(repliesTo(scenario, client.dialect, provider));
          },
        );

        if (stream && client.dialect === "gemini") continue;
        test.each(badScenarios.map((scenario) => [scenario.name, scenario] as const))(
          `${way}: %s`,
          (_, scenario) => expectFailure(client, provider, scenario, stream),
        );
      }
    });
  }
}

/** Their body breaks off after the error, for which the server has to wait for four seconds. */
test.each(
  clients.filter(({ dialect }) => dialect === "gemini").map((client) => [client.name, client] as const),
)("%s notices the end of every stream that fails", async (_, client) => {
  const all = speakerNames.flatMap((provider) => badScenarios.map((scenario) => ({ provider, scenario })));
  await Promise.all(all.map(({ provider, scenario }) => expectFailure(client, provider, scenario, true)));
});

async function expectFailure(client: Client, provider: SpeakerName, scenario: Scenario, stream: boolean) {
  const failure = await converse(client, provider, scenario, stream).then(
    (answers) => answers,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(Error);
  expect((failure as Error).message).toMatch(failureOf(scenario, stream));
  expect(world.provider.complaints).toEqual([]);
}

test.each(["chat", "responses"] as const)(
  "tokens are counted for a model on a provider of %s",
  async (provider) => {
    const { url, key, model } = world.access(provider);
    const anthropic = new Anthropic({ baseURL: url, apiKey: key, authToken: null, maxRetries: 0 });
    const messages = [{ role: "user" as const, content: "one two three four five six seven eight" }];
    const { input_tokens: counted } = await anthropic.messages.countTokens({ model, messages });
    expect(counted).toBeGreaterThanOrEqual(8);
    expect(world.provider.replies).toEqual([]);
  },
);

function converse(client: Client, provider: SpeakerName, { ask }: Scenario, stream: boolean) {
  return client.converse(world.access(provider), ask, stream);
}
