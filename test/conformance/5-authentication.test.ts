import { describe, expect, test } from "bun:test";
import type { TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { chat, countTokens, expectError, messagesRoute, postRoutes, responses } from "./requests.ts";
import { newKey, useWorld } from "./world.ts";

const world = useWorld();
const originOf = (key: TestKey) => (key.mode === "credit" ? "" : "/token") as "" | "/token";

describe("5. Authentication", () => {
  test("5 bearer is accepted on all routes", async () => {
    for (const key of world.both) {
      for (const path of ["/v1/models", "/v1/usage"])
        expect((await world.sluice.request(path, { key })).status).toBe(200);
      for (const { path, body } of postRoutes) {
        const headers = { authorization: `bearer ${key.key}` };
        expect((await world.sluice.request(path, { key, body, headers })).status).toBe(200);
      }
    }
  });

  test("5 x-api-key is accepted on messages, count_tokens and models, and not on chat completions, responses and usage", async () => {
    for (const key of world.both) {
      const headers = { "x-api-key": key.key };
      const origin = originOf(key);
      for (const { path, body } of [messagesRoute, countTokens]) {
        expect((await world.sluice.request(path, { origin, headers, body })).status).toBe(200);
      }
      expect((await world.sluice.request("/v1/models", { origin, headers })).status).toBe(200);
      for (const { path, body } of [chat, responses]) {
        const refused = await world.sluice.request(path, { origin, headers, body });
        expect((await expectError(refused, "invalid_credentials", "A")).message).toMatch(/bearer/i);
      }
      await expectError(
        await world.sluice.request("/v1/usage", { origin, headers }),
        "invalid_credentials",
        "A",
      );
    }
  });

  test("5 rule 1: exactly one authentication method is sent, not both", async () => {
    const key = world.credit;
    const headers = { "x-api-key": key.key };
    const listed = await world.sluice.request("/v1/models", { key, headers });
    const { message } = await expectError(listed, "invalid_credentials", "A");
    expect(message).toContain("server.same_key_in_both_headers");
    for (const { path, body } of [messagesRoute, countTokens]) {
      await expectError(await world.sluice.request(path, { key, headers, body }), "invalid_credentials", "B");
    }
  });

  test("5 rule 2: the model list needs no credential, and every other route needs one", async () => {
    for (const origin of ["", "/token"] as const) {
      expect((await world.sluice.request("/v1/models", { origin })).status).toBe(200);
      await expectError(await world.sluice.request("/v1/usage", { origin }), "invalid_credentials", "A");
      for (const { path, body, format } of postRoutes) {
        await expectError(await world.sluice.request(path, { origin, body }), "invalid_credentials", format);
      }
    }
  });

  test("5 rule 3: a supplied but invalid credential on the model list is a 401", async () => {
    const headers = { authorization: `Bearer ${world.credit.key.slice(0, -1)}` };
    await expectError(await world.sluice.request("/v1/models", { headers }), "invalid_credentials", "A");
  });

  test("5 rule 4: a missing, malformed, unknown, suspended or revoked key is an authentication error", async () => {
    const key = world.credit.key;
    const changed = key.slice(0, 20) + (key[20] === "a" ? "b" : "a") + key.slice(21);
    for (const bad of ["", "x", "sk-123", key.slice(0, -1), `${key}x`, changed, key.toUpperCase()]) {
      const headers = { authorization: `Bearer ${bad}` };
      await expectError(
        await world.sluice.request(chat.path, { body: chat.body, headers }),
        "invalid_credentials",
        "A",
      );
    }
    for (const change of [["suspend"], ["revoke", "--yes"]]) {
      const victim = await newKey(world);
      await world.sluice.cliJson("keys", ...change, victim.id);
      const ask = () => world.sluice.request(chat.path, { key: victim, body: chat.body });
      await waitFor(async () => (await ask()).status === 401, `the key to be refused after ${change[0]}`);
      await expectError(await ask(), "invalid_credentials", "A");
    }
  });

  test("5 rule 5: an expired or disabled key, or one not entitled to the model, is a permission error where 403 is listed", async () => {
    const expiring = await newKey(world, { expires: "2s" });
    const disabled = await newKey(world);
    await world.sluice.cliJson("keys", "disable", disabled.id);
    for (const [key, code] of [
      [expiring, "key_expired"],
      [disabled, "key_disabled"],
    ] as const) {
      const ask = ({ path, body }: typeof chat) => world.sluice.request(path, { key, body });
      await waitFor(async () => (await ask(chat)).status === 403, code);
      for (const route of postRoutes) await expectError(await ask(route), code, route.format);
      for (const path of ["/v1/models", "/v1/usage"]) {
        await expectError(await world.sluice.request(path, { key }), "invalid_credentials", "A");
      }
    }
    const entitled = await newKey(world, { models: ["claude-test"] });
    await expectError(
      await world.sluice.request(chat.path, { key: entitled, body: chat.body }),
      "key_disabled",
      "A",
    );
  });

  test("5 rule 6: a key is bound to one billing mode and its origin, and the refusal names the right one", async () => {
    const refused = await world.sluice.request(chat.path, { key: world.token, origin: "", body: chat.body });
    expect((await expectError(refused, "invalid_credentials", "A")).message).toContain("/token");
  });

  test("5 rule 7: a key scoped to a provider cannot use another provider's models", async () => {
    const key = await newKey(world, { provider: "openai" });
    expect((await world.sluice.request(chat.path, { key, body: chat.body })).status).toBe(200);
    for (const route of [messagesRoute, countTokens]) {
      await expectError(
        await world.sluice.request(route.path, { key, body: route.body }),
        "key_disabled",
        "B",
      );
    }
  });

  test("5 rules 8 and 9: keys are secrets, and no response or log shows more than the prefix", async () => {
    const key = await newKey(world);
    const shown: string[] = [];
    const note = async (response: Response) => {
      shown.push(JSON.stringify([...response.headers]), await response.text());
    };
    await note(await world.sluice.request("/v1/usage", { key }));
    await note(await world.sluice.request(chat.path, { key, body: chat.body }));
    await note(await world.sluice.request(chat.path, { key, origin: "/token", body: chat.body }));
    await note(await world.sluice.request(chat.path, { key, body: { ...chat.body, model: "none" } }));
    expect(shown.join("\n")).toContain(key.prefix);
    expect(`${shown.join("\n")}${world.sluice.output}`).not.toContain(key.key.slice(13));
    expect(world.provider.requests.map(({ headers }) => JSON.stringify(headers)).join("")).not.toContain(
      key.key.slice(13),
    );
  });

  test("5 rule 10: keys are issued, rotated and revoked by the operator's commands", async () => {
    const key = await newKey(world);
    const rotated = await world.sluice.cliJson<TestKey>("keys", "rotate", key.id, "--yes");
    expect(rotated.key).not.toBe(key.key);
    await waitFor(
      async () => (await world.sluice.request("/v1/usage", { key })).status === 401,
      "the old secret to die",
    );
    expect((await world.sluice.request("/v1/usage", { key: { ...key, key: rotated.key } })).status).toBe(200);
  });
});
