import { describe, expect, test } from "bun:test";
import { hello, paths } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

const head = '[server]\nsame_key_in_both_headers = "accept"';
const countPath = "/v1/messages/count_tokens";

function listModels(world: World, caller: Caller, apiKey: string): Promise<Response> {
  const headers = { authorization: `Bearer ${caller.secret}`, "x-api-key": apiKey };
  return fetch(`${world.running.url}/v1/models`, { headers });
}

describe('server.same_key_in_both_headers = "accept"', () => {
  test("takes the same key in both headers for one, where either is taken", async () => {
    await using world = await World.start({ head });
    const caller = await world.creditCaller();
    const headers = { "x-api-key": caller.secret };
    for (const path of [paths.messages, countPath]) {
      const body = hello("messages", "claude-test");
      expect((await world.ask(caller, { path, body, headers })).status, path).toBe(200);
    }
    expect((await listModels(world, caller, caller.secret)).status).toBe(200);
    expect(world.observed.every(({ keyId }) => keyId === caller.key.id)).toBe(true);
    expect(await world.chargesOf(caller)).toHaveLength(1);
  });

  test("refuses two different keys, and any second one where only a bearer is taken", async () => {
    await using world = await World.start({ head });
    const [caller, other] = [await world.creditCaller(), await world.creditCaller()];
    for (const [path, second] of [
      [paths.messages, other.secret],
      [countPath, `${caller.secret}x`],
      [paths.chat, caller.secret],
      [paths.responses, caller.secret],
    ] as const) {
      const body = hello(path === paths.responses ? "responses" : "chat", "gpt-test");
      const refused = await world.ask(caller, { path, body, headers: { "x-api-key": second } });
      expect(refused.status, path).toBe(401);
      expect(await refused.text()).not.toContain("same_key_in_both_headers");
    }
    expect((await listModels(world, caller, other.secret)).status).toBe(401);
    expect(world.provider.requests).toEqual([]);
  });
});
