import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Step } from "../support/answers.ts";
import { type BodyDialectName, bodyDialectNames } from "../support/body-dialects.ts";
import { StreamReader } from "../support/sse.ts";
import { type ConversationProvider, startConversationProvider } from "./conversation/provider.ts";
import { goodScenarios, textScenario } from "./conversation/scenarios.ts";
import { type SpeakerName, speakerNames } from "./conversation/speakers.ts";
import { clients } from "./drivers/all.ts";
import { understoodAs } from "./expectations.ts";
import { startWorld, type World } from "./world.ts";

/** Long enough for heartbeats in every stream, which the strict clients must take for what they are. */
const longSilence: Step = { sleepMs: 700 };
let silence: Step = longSilence;

let world: World<ConversationProvider>;

beforeAll(async () => {
  const provider = startConversationProvider(goodScenarios, () => silence);
  world = await startWorld(provider, { heartbeat: 0.1 });
}, 120_000);

afterAll(() => world.dispose());

test("all clients have all conversations at once, with heartbeats in their streams, and nothing is mixed up", async () => {
  const talks = clients.flatMap((client) =>
    speakerNames.flatMap((provider) => goodScenarios.map((scenario) => ({ client, provider, scenario }))),
  );
  const heard = await Promise.all(
    talks.map(({ client, provider, scenario }) =>
      untilTaken(() => client.converse(world.access(provider), scenario.ask, true)).catch(String),
    ),
  );
  const told = talks.map(({ client, provider, scenario }, index) => ({
    talk: `${client.name} on ${provider}: ${scenario.name}`,
    answers: heard[index],
  }));
  const expected = talks.map(({ client, scenario, provider }, index) => ({
    ...told[index],
    answers: scenario.turns.map((turn) => understoodAs(turn, provider, client.hidesRefusals)),
  }));
  expect(world.provider.complaints).toEqual([]);
  expect(told).toEqual(expected as typeof told);
}, 120_000);

/** On a slow machine a crowd is an overload: some are sent away before anything was done, and come again. */
async function untilTaken<Heard>(converse: () => Promise<Heard>): Promise<Heard> {
  for (;;) {
    try {
      return await converse();
    } catch (error) {
      if (!String(error).includes("The gateway is overloaded")) throw error;
      await Bun.sleep(200);
    }
  }
}

const paths = { chat: "/v1/chat/completions", responses: "/v1/responses", messages: "/v1/messages" };
const heartbeats = {
  chat: /^: keepalive$/gm,
  responses: /^event: keepalive$/gm,
  messages: /^event: ping$/gm,
};
const ends = { chat: "[DONE]", responses: "response.completed", messages: "message_stop" };

test("every pair has heartbeats in the client's own dialect for as long as the provider is silent", async () => {
  const pairs = bodyDialectNames.flatMap((client) => speakerNames.map((provider) => ({ client, provider })));
  const { promise: until, resolve: speakOn } = Promise.withResolvers<void>();
  silence = { until };
  const streams = await Promise.all(
    pairs.map(async ({ client, provider }) => ({
      client,
      reader: new StreamReader(await untilTaken(() => askFor(client, provider))),
    })),
  );
  // Anthropic sends one of its own, which says nothing about ours.
  await Promise.all(streams.map(({ client, reader }) => untilHeard(reader, heartbeats[client], 3)));
  speakOn();
  for (const { client, reader } of streams) {
    while ((await reader.nextChunk()) !== null);
    expect(reader.result().text).toContain(ends[client]);
  }
}, 120_000);

async function untilHeard(reader: StreamReader, heartbeat: RegExp, times: number): Promise<void> {
  while ((reader.result().text.match(heartbeat)?.length ?? 0) < times) {
    if ((await reader.nextChunk()) === null) throw new Error(`a stream ended: ${reader.result().text}`);
  }
}

async function askFor(client: BodyDialectName, provider: SpeakerName): Promise<Response> {
  const { key, model, url } = world.access(provider);
  const { system, user } = textScenario.ask;
  const asked = [{ role: "user", content: user[0] }];
  const instructed = [{ role: "system", content: system }, ...asked];
  const bodies = {
    chat: { messages: instructed },
    responses: { input: instructed },
    messages: { system, messages: asked },
  };
  const response = await fetch(url + paths[client], {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, stream: true, ...bodies[client] }),
  });
  if (response.status !== 200) throw new Error(await response.text());
  return response;
}
