import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  type ClientDialectName,
  clientDialectNames,
  type ProviderDialectName,
  providerDialectNames,
} from "../../src/dialects/registry.ts";

import { type ConversationProvider, startConversationProvider } from "./conversation/provider.ts";
import { goodScenarios, textScenario } from "./conversation/scenarios.ts";
import { clients } from "./drivers/all.ts";
import { understoodAs } from "./expectations.ts";
import { startWorld, type World } from "./world.ts";

/** Long enough for heartbeats in every stream, which the strict clients must take for what they are. */
const silenceMs = 700;

let world: World<ConversationProvider>;

beforeAll(async () => {
  world = await startWorld(startConversationProvider(goodScenarios, silenceMs), { heartbeat: 0.1 });
}, 30_000);

afterAll(() => world.dispose());

test("all clients have all conversations at once, with heartbeats in their streams, and nothing is mixed up", async () => {
  const talks = clients.flatMap((client) =>
    providerDialectNames.flatMap((provider) =>
      goodScenarios.map((scenario) => ({ client, provider, scenario })),
    ),
  );
  const heard = await Promise.all(
    talks.map(({ client, provider, scenario }) =>
      client.converse(world.access(provider), scenario.ask, true).catch((error: unknown) => String(error)),
    ),
  );
  const told = talks.map(({ client, provider, scenario }, index) => ({
    talk: `${client.name} on ${provider}: ${scenario.name}`,
    answers: heard[index],
  }));
  const expected = talks.map(({ scenario, provider }, index) => ({
    ...told[index],
    answers: scenario.turns.map((turn) => understoodAs(turn, provider)),
  }));
  expect(world.provider.complaints).toEqual([]);
  expect(told).toEqual(expected as typeof told);
}, 30_000);

const paths = { chat: "/v1/chat/completions", responses: "/v1/responses", messages: "/v1/messages" };
const heartbeats = {
  chat: /^: keepalive$/gm,
  responses: /^event: keepalive$/gm,
  messages: /^event: ping$/gm,
};

test("every pair has heartbeats in the client's own dialect while the provider is silent", async () => {
  const pairs = clientDialectNames.flatMap((client) =>
    providerDialectNames.map((provider) => ({ client, provider })),
  );
  const counts = await Promise.all(
    pairs.map(async ({ client, provider }) => {
      const text = await streamedText(client, provider);
      return [`${client} on ${provider}`, text.match(heartbeats[client])?.length ?? 0] as const;
    }),
  );
  // Anthropic sends one of its own, which says nothing about ours.
  expect(counts.filter(([, count]) => count < 2)).toEqual([]);
});

async function streamedText(client: ClientDialectName, provider: ProviderDialectName): Promise<string> {
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
  return response.text();
}
