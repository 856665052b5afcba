import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  Agent,
  MemorySession,
  OpenAIResponsesCompactionSession,
  OpenAIResponsesModel,
  Runner,
} from "@openai/agents";
import OpenAI from "openai";
import type { Errand } from "./agents/errand.ts";
import { frameworkErrand } from "./agents/framework-errand.ts";
import { type AgentProvider, startAgentProvider } from "./agents/provider.ts";
import { type SpeakerName, speakerNames, speakers } from "./conversation/speakers.ts";
import { expectedCalls, instructions, question } from "./frameworks/framework.ts";
import { runN8nNode } from "./frameworks/n8n.ts";
import { agentFor, clientOf } from "./frameworks/openai-agents.ts";
import { startWorld, type World } from "./world.ts";

/** Clients that leave the conversation to the server, on a provider of every dialect. */
let world: World<AgentProvider>;

/** The Agents SDK compacts only for models whose names look like OpenAI's. */
const aliases = Object.fromEntries(speakerNames.map((dialect) => [dialect, `gpt-on-${dialect}`])) as Record<
  SpeakerName,
  string
>;

/** Its thinking has to come back with the results. */
const thoughtfulErrand: Errand = {
  ...frameworkErrand,
  steps: frameworkErrand.steps.map((step, index) => ({ ...step, thinking: `Step ${index} – à faire.` })),
};

beforeAll(async () => {
  world = await startWorld(startAgentProvider(), { aliases });
}, 120_000);
beforeEach(() => world.provider.send(frameworkErrand));
afterAll(() => world.dispose());

function clientFor(dialect: SpeakerName) {
  const access = world.access(dialect);
  return { client: clientOf(access), model: access.model };
}

describe.each(speakerNames)("on a provider of %s", (dialect) => {
  test("the official SDK continues, reads, lists and deletes responses", async () => {
    const { client, model } = clientFor(dialect);
    const first = await client.responses.create({ model, input: "My name is Ada." });
    const second = await client.responses.create({ model, input: "And?", previous_response_id: first.id });
    const stream = client.responses.stream({ model, input: "Once more", previous_response_id: second.id });
    const third = await stream.finalResponse();
    expect((await client.responses.retrieve(third.id)).output_text).toBe(third.output_text);
    const listed: string[] = [];
    for await (const item of client.responses.inputItems.list(third.id, { order: "asc", limit: 2 })) {
      listed.push(item.type ?? "");
    }
    // This provider of responses gives all its items one id.
    expect(listed).toEqual(Array(speakers[dialect].dialect === "responses" ? 4 : 5).fill("message"));
    await client.responses.delete(first.id);
    const gone = client.responses.create({ model, input: "And?", previous_response_id: third.id });
    expect(await gone.catch((error) => [error.status, error.code])).toEqual([
      400,
      "previous_response_not_found",
    ]);
    const missing = client.responses.retrieve(first.id);
    expect(await missing.catch((error) => error instanceof OpenAI.NotFoundError)).toBe(true);
  });

  test.each(["whole", "streamed"])(
    "the Agents SDK runs its tools with previousResponseId, %s",
    async (way) => {
      const { client, model } = clientFor(dialect);
      const calls: string[] = [];
      const agent = agentFor({
        access: world.access(dialect),
        dialect: "responses",
        stream: way === "streamed",
        calls,
      });
      const { id: previousResponseId } = await client.responses.create({ model, input: "Hello" });
      if (way === "whole") {
        const run = await new Runner().run(agent, question, { previousResponseId });
        expect(String(run.finalOutput)).toBe(frameworkErrand.farewell);
      } else {
        const run = await new Runner().run(agent, question, { previousResponseId, stream: true });
        for await (const _ of run);
        expect(String(run.finalOutput)).toBe(frameworkErrand.farewell);
      }
      expect(world.provider.complaints).toEqual([]);
      expect(calls).toEqual(expectedCalls);
      expect(world.provider.steps).toEqual([0, 1, 2]);
    },
  );

  test("n8n's node runs its tools behind a previousResponseId, as its source does", async () => {
    const { client, model } = clientFor(dialect);
    const { id } = await client.responses.create({ model, input: "Hello" });
    world.provider.send(thoughtfulErrand);
    const calls: string[] = [];
    const output = await runN8nNode(
      { access: world.access(dialect), dialect: "responses", stream: false, calls },
      id,
    );
    expect(world.provider.complaints).toEqual([]);
    expect(output).toMatchObject([{ type: "message", content: [{ text: frameworkErrand.farewell }] }]);
    expect(calls).toEqual(expectedCalls);
    expect(world.provider.steps).toEqual([0, 1, 2]);
  });

  test("the Agents SDK's compaction session compacts what it has, and goes on from it", async () => {
    const { client } = clientFor(dialect);
    const model = aliases[dialect];
    const session = new OpenAIResponsesCompactionSession({
      client,
      model,
      underlyingSession: new MemorySession(),
      shouldTriggerCompaction: () => true,
    });
    const agent = new Agent({
      name: "Errands",
      instructions,
      model: new OpenAIResponsesModel(client, model),
    });
    await new Runner().run(agent, "Hello", { session });
    const items = await session.getItems();
    expect(items.map((item) => item.type)).toContain("compaction");
    const again = await new Runner().run(agent, "Go on", { session });
    expect(typeof again.finalOutput).toBe("string");
    expect(world.provider.complaints).toEqual([]);
  });
});
