import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type BodyDialectName, bodyDialectNames } from "../support/body-dialects.ts";
import { type ConversationProvider, startConversationProvider } from "./conversation/provider.ts";
import { callsOf, runTool, type Scenario } from "./conversation/scenario.ts";
import { badScenarios, essentialScenarios } from "./conversation/scenarios.ts";
import { type SpeakerName, speakerNames } from "./conversation/speakers.ts";
import type { Understood } from "./drivers/client.ts";
import { failureOf, understoodAs } from "./expectations.ts";
import { largeClients, runsLargeClients } from "./installed.ts";
import { pythonTimeoutMs, runPython } from "./python/run.ts";
import { startWorld, type World } from "./world.ts";

/**
 * The official Python packages on all nine pairs: one process, all conversations, then a test for each. Every answer is
 * validated against the packages' types.
 */
interface Outcome {
  readonly answers?: readonly Understood[];
  readonly error?: { readonly type: string; readonly message: string };
  /** Of all models, at the end. */
  readonly ids?: readonly string[];
}

interface Conversation {
  readonly client: BodyDialectName;
  readonly provider: SpeakerName;
  readonly stream: boolean;
  readonly scenario: Scenario;
}

const conversations: readonly Conversation[] = bodyDialectNames.flatMap((client) =>
  speakerNames.flatMap((provider) =>
    [false, true].flatMap((stream) =>
      [...essentialScenarios, ...badScenarios].map((scenario) => ({ client, provider, stream, scenario })),
    ),
  ),
);

async function runAll(python: string, world: World<ConversationProvider>): Promise<Outcome[]> {
  const { url, key } = world.access("chat");
  const task = {
    url,
    key,
    conversations: conversations.map(({ client, provider, stream, scenario }) => ({
      client,
      model: world.access(provider).model,
      stream,
      ask: { ...scenario.ask, results: resultsOf(scenario) },
    })),
  };
  return runPython(python, "converse.py", { ...task, requests: [], lists_models: true });
}

/** By the tool's name, because not every provider has the scenario's ids. */
function resultsOf({ ask, turns }: Scenario): Record<string, string> {
  const calls = turns.flatMap((turn) => callsOf(turn.says));
  return Object.fromEntries(calls.map((call) => [call.name, runTool(ask, call)]));
}

const python = runsLargeClients ? await largeClients.python() : null;
if (!runsLargeClients) console.log("The Python packages are driven against the executable only.");

/** Not registered at all where they are run against the executable anyway. */
const suite = runsLargeClients ? describe.skipIf(python === null) : () => {};

suite("the official Python packages", () => {
  let world: World<ConversationProvider>;
  let outcomes: readonly Outcome[] = [];

  beforeAll(async () => {
    world = await startWorld(startConversationProvider([...essentialScenarios, ...badScenarios]));
    outcomes = await runAll(python ?? "python3", world);
  }, pythonTimeoutMs);

  afterAll(() => world.dispose());

  test("have had every conversation, and the provider has nothing to complain about", () => {
    expect(outcomes).toHaveLength(conversations.length + 1);
    expect(world.provider.complaints).toEqual([]);
  });

  test("read the list of models once, from its beginning to its end", () => {
    const ids = speakerNames.map((dialect) => world.access(dialect).model);
    expect(outcomes.at(-1)?.ids?.toSorted()).toEqual(ids.toSorted());
  });

  conversations.forEach(({ client, provider, stream, scenario }, index) => {
    const way = stream ? "streamed" : "whole";
    test(`${client} on a provider of ${provider}, ${way}: ${scenario.name}`, () => {
      const { answers, error } = outcomes[index] ?? {};
      if (badScenarios.includes(scenario)) {
        expect(error?.message).toMatch(failureOf(scenario, stream));
      } else {
        expect(error).toBeUndefined();
        expect(answers).toEqual(scenario.turns.map((turn) => understoodAs(turn, provider)));
      }
    });
  });
});
