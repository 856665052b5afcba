import { describe, expect, test } from "bun:test";
import { answerFrom } from "../support/fixtures.ts";
import { waitFor } from "../support/wait.ts";
import { chat, expectError } from "./requests.ts";
import { noneReserved, usageOf } from "./usage.ts";
import { newKey, useWorld } from "./world.ts";

const world = useWorld();

describe("3. States and transitions", () => {
  test("3 the key's status is told in the usage summary", async () => {
    for (const key of world.both) expect((await usageOf(world, key)).key.status).toBe("active");
  });

  test("3 a disabled key is refused until it is enabled again, and a revoked one for ever", async () => {
    const key = await newKey(world);
    const status = async () => (await world.sluice.request(chat.path, { key, body: chat.body })).status;
    await world.sluice.cliJson("keys", "disable", key.id);
    await waitFor(async () => (await status()) === 403, "the key to be disabled");
    await world.sluice.cliJson("keys", "enable", key.id);
    await waitFor(async () => (await status()) === 200, "the key to be enabled");
    await world.sluice.cliJson("keys", "suspend", key.id);
    await waitFor(async () => (await status()) === 401, "the key to be suspended");
    await world.sluice.cliJson("keys", "revoke", key.id, "--yes");
    expect((await world.sluice.cli("keys", "enable", key.id)).code).toBe(1);
    // A gateway that knows a key created later also knows of the revocation.
    await newKey(world);
    expect(await status()).toBe(401);
  });

  test("3 a request in flight reserves part of the balance, which the summary reports, and gives it back at its end", async () => {
    for (const key of [await newKey(world), await newKey(world, { mode: "token_budget" })]) {
      const release = Promise.withResolvers<void>();
      const usual = answerFrom("chat/text.json");
      world.provider.script({ ...usual, before: [{ until: release.promise }] });
      const arrived = world.provider.nextRequest();
      const pending = world.sluice.request(chat.path, { key, body: { ...chat.body, max_tokens: 1000 } });
      await arrived;
      const during = await usageOf(world, key);
      if (key.mode === "credit") {
        expect(during.credits["reserved"]).toBeGreaterThanOrEqual(0.002);
        expect(during.credits["remaining"]).toBeCloseTo(10 - (during.credits["reserved"] ?? 0), 9);
        expect(during.credits["balance"]).toBe(10);
      } else {
        expect(during.tokens.reserved).toBeGreaterThanOrEqual(1000);
        expect(during.tokens.remaining).toBe(1_000_000 - during.tokens.reserved);
      }
      release.resolve();
      expect((await pending).status).toBe(200);
      await noneReserved(world, key);
    }
  });

  test("3 a second request that finds the balance reserved by another in flight fails with a 429", async () => {
    const credit = await newKey(world, { credit: 0.003 });
    const token = await newKey(world, { mode: "token_budget", budget: 1500 });
    for (const key of [credit, token]) {
      const release = Promise.withResolvers<void>();
      world.provider.script({ ...answerFrom("chat/text.json"), before: [{ until: release.promise }] });
      const arrived = world.provider.nextRequest();
      const body = { ...chat.body, max_tokens: 1000 };
      const first = world.sluice.request(chat.path, { key, body });
      await arrived;
      const second = await world.sluice.request(chat.path, { key, body });
      const { response } = await expectError(second, "balance_temporarily_reserved", "A");
      expect(response.headers.get("retry-after")).toBe("1");
      release.resolve();
      expect((await first).status).toBe(200);
      expect(
        (await world.sluice.request(chat.path, { key, body: { ...chat.body, max_tokens: 100 } })).status,
      ).toBe(200);
    }
  });
});
