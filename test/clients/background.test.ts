import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { Agent, OpenAIResponsesModel, Runner } from "@openai/agents";
import type OpenAI from "openai";
import { waitFor } from "../support/wait.ts";
import { frameworkErrand } from "./agents/framework-errand.ts";
import { type AgentProvider, startAgentProvider } from "./agents/provider.ts";
import { speakerNames } from "./conversation/speakers.ts";
import { clientOf } from "./frameworks/openai-agents.ts";
import { startWorld, type World } from "./world.ts";

/** Responses in the background, as the official SDK and the Agents SDK ask for them, on a provider of every dialect. */
let world: World<AgentProvider>;

beforeAll(async () => {
  world = await startWorld(startAgentProvider());
}, 120_000);
beforeEach(() => world.provider.send(frameworkErrand));
afterAll(() => world.dispose());

async function ended(client: OpenAI, id: string): Promise<OpenAI.Responses.Response> {
  let response = await client.responses.retrieve(id);
  await waitFor(async () => {
    response = await client.responses.retrieve(id);
    return response.status !== "queued" && response.status !== "in_progress";
  }, "the response to end");
  return response;
}

describe.each(speakerNames)("on a provider of %s", (speaker) => {
  function connected() {
    const access = world.access(speaker);
    return { client: clientOf(access), model: access.model };
  }

  test("the official SDK creates, polls, continues, cancels and deletes", async () => {
    const { client, model } = connected();
    const created = await client.responses.create({ model, input: "My name is Ada.", background: true });
    expect(created).toMatchObject({ status: "queued", background: true, output_text: "" });
    const response = await ended(client, created.id);
    expect(response).toMatchObject({ id: created.id, status: "completed" });
    expect(response.output_text).not.toBe("");
    expect(await client.responses.cancel(created.id)).toMatchObject({ status: "completed" });
    const next = await client.responses.create({ model, input: "And?", previous_response_id: created.id });
    expect(next.status).toBe("completed");
    await client.responses.delete(created.id);
    expect(await client.responses.retrieve(created.id).catch(({ status }) => status)).toBe(404);
  });

  test("the official SDK loses a stream, and reads on", async () => {
    const { client, model } = connected();
    const stream = await client.responses.create({ model, input: "Hello", background: true, stream: true });
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of stream) {
      events.push(event);
      if (event.type === "response.in_progress") break;
    }
    const [first] = events;
    const id = first?.type === "response.created" ? first.response.id : "";
    const last = events.at(-1)?.sequence_number ?? -1;
    const rest = await client.responses.retrieve(id, { stream: true, starting_after: last });
    for await (const event of rest) events.push(event);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, place) => place));
    expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { id } });
    const helper = client.responses.stream({ response_id: id, starting_after: last });
    const seen: number[] = [];
    helper.on("event", (event) => void seen.push(event.sequence_number));
    expect((await helper.finalResponse()).output_text).toBe(
      (await client.responses.retrieve(id)).output_text,
    );
    expect(seen).toEqual(events.slice(last + 1).map((event) => event.sequence_number));
  });

  test("the Agents SDK streams a run", async () => {
    const { client, model } = connected();
    const agent = new Agent({
      name: "Waits",
      model: new OpenAIResponsesModel(client, model),
      modelSettings: { providerData: { background: true } },
    });
    const running = await new Runner().run(agent, "My name is Ada.", { stream: true });
    let text = "";
    for await (const piece of running.toTextStream()) text += piece;
    await running.completed;
    expect(text).toBe(String(running.finalOutput));
    expect(text).not.toBe("");
    expect(await client.responses.retrieve(running.lastResponseId ?? "")).toMatchObject({ background: true });
  });
});
