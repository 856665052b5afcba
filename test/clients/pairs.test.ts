import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type DialectName, dialectNames } from "../../src/base/dialect.ts";
import { callsOf, type Scenario, type Turn, textOf } from "./conversation/scenario.ts";
import { badScenarios, goodScenarios } from "./conversation/scenarios.ts";
import { aiSdk } from "./drivers/ai-sdk.ts";
import { anthropicMessages } from "./drivers/anthropic-messages.ts";
import type { Client, Understood } from "./drivers/client.ts";
import { openAiChat } from "./drivers/openai-chat.ts";
import { openAiResponses } from "./drivers/openai-responses.ts";
import { startWorld, type World } from "./world.ts";

/**
 * Every client dialect on every provider dialect, through two client libraries for each, streamed and whole,
 * in every scenario. The provider checks what it is asked; here stands what the client must understand.
 */
const clients: readonly Client[] = [
  openAiChat,
  openAiResponses,
  anthropicMessages,
  aiSdk.chat,
  aiSdk.responses,
  aiSdk.messages,
];

let world: World;

beforeAll(async () => {
  world = await startWorld([...goodScenarios, ...badScenarios]);
}, 30_000);

beforeEach(() => world.provider.forget());

afterAll(() => world.dispose());

for (const client of clients) {
  for (const provider of dialectNames) {
    describe(`${client.name} (${client.dialect}) on a provider of ${provider}`, () => {
      for (const stream of [false, true]) {
        const way = stream ? "streamed" : "whole";
        test.each(goodScenarios.map((scenario) => [scenario.name, scenario] as const))(
          `${way}: %s`,
          async (_, scenario) => {
            const answers = await converse(client, provider, scenario, stream);
            expect(world.provider.complaints).toEqual([]);
            expect(answers).toEqual(scenario.turns.map(understoodAs));
            expect(world.provider.replies).toEqual(repliesTo(scenario, client.dialect, provider));
          },
        );

        test.each(badScenarios.map((scenario) => [scenario.name, scenario] as const))(
          `${way}: %s`,
          async (_, scenario) => {
            const failure = await converse(client, provider, scenario, stream).then(
              (answers) => answers,
              (error: unknown) => error,
            );
            expect(failure).toBeInstanceOf(Error);
            expect((failure as Error).message).toMatch(wordsOf(scenario, stream));
            expect(world.provider.complaints).toEqual([]);
          },
        );
      }
    });
  }
}

function converse(client: Client, provider: DialectName, { ask }: Scenario, stream: boolean) {
  return client.converse(world.access(provider), ask, stream);
}

function understoodAs({ says, usage, ending }: Turn): Understood {
  if (ending === "fails" || ending === "cut") throw new Error("such a turn cannot be understood");
  return {
    text: textOf(says, "text"),
    thinking: textOf(says, "thinking"),
    refusal: textOf(says, "refusal"),
    calls: callsOf(says),
    finish: ending,
    usage,
  };
}

/** Reasoning comes back to its maker, except from chat clients, which have no place for another's seal. */
function repliesTo(scenario: Scenario, client: DialectName, provider: DialectName) {
  const reasons = scenario.turns.some((turn) => textOf(turn.says, "thinking") !== "");
  const keeps = client !== "chat" || provider === "chat";
  return scenario.turns.map((_, turn) => ({
    scenario: scenario.name,
    turn,
    reasoningReturned: reasons && keeps && turn > 0,
  }));
}

/** What the client must be told: the provider's words where it had begun, the gateway's where it had not. */
function wordsOf({ turns: [turn] }: Scenario, stream: boolean): RegExp {
  if (turn?.ending === "fails") return stream ? /The machine has caught fire\./ : /failed with status 500/;
  return stream ? /ended before the answer was complete/ : /not a JSON object|not JSON/;
}
