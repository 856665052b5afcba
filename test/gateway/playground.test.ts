import { expect, test } from "bun:test";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { hashSecret, newSecret } from "../../src/keys/secret.ts";
import { usualResponse } from "../support/fixtures.ts";
import { waitFor } from "../support/wait.ts";
import { onBothStores } from "./on-both-stores.ts";
import type { Caller, World } from "./world.ts";

const call = {
  path: "/v1/chat/completions",
  body: { model: "gpt-test", messages: [{ role: "user", content: "Hello" }], max_tokens: 1000 },
};

/** A secret of the playground for the caller's key. */
async function secretFor(world: World, caller: Caller, amountLeft: number, endsAtMs = Date.now() + 60_000) {
  const secret = newSecret();
  const record = { hash: hashSecret(secret), keyId: caller.key.id, endsAtMs, amountLeft };
  await world.gateway.playground.begin(record, 0);
  const left = async () => (await world.gateway.playground.find(record.hash, 0))?.amountLeft;
  return { caller: { key: caller.key, secret }, left };
}

onBothStores("", (world) => {
  test("a secret of the playground is charged to its key, and to the secret's amount as much", async () => {
    const owner = await world().creditCaller();
    const { caller, left } = await secretFor(world(), owner, nanoPerCredit);
    expect((await world().ask(caller, call)).status).toBe(200);
    const [charge, ...others] = await world().chargesOf(owner);
    expect(others).toEqual([]);
    const expected = nanoPerCredit + (charge?.amount ?? 0);
    expect(expected).toBeLessThan(nanoPerCredit);
    await waitFor(async () => (await left()) === expected, "the rest to be given back");
  });

  test("of those that race for its amount, only as many run as it pays for", async () => {
    const owner = await world().creditCaller();
    const held = Math.round((await world().heldFor(call)) * nanoPerCredit);
    const { caller } = await secretFor(world(), owner, 2 * held);
    const rejections = Promise.withResolvers<void>();
    world().provider.script((request) => rejections.promise.then(() => usualResponse(request)));
    const running = Array.from({ length: 6 }, () => world().ask(caller, call));
    const rejected: Response[] = [];
    for (const each of running)
      each.then((response) => {
        if (response.status === 429) rejected.push(response);
      });
    await waitFor(() => rejected.length === 4, "the others to be rejected");
    rejections.resolve();
    expect(await rejected[0]?.json()).toMatchObject({
      error: { code: "limit_reached", message: expect.stringContaining("the playground can spend only") },
    });
    expect((await Promise.all(running)).filter(({ status }) => status === 200)).toHaveLength(2);
    expect(await world().chargesOf(owner)).toHaveLength(2);
  });

  test("gives back what a failed request has taken, and reads nothing of its key", async () => {
    const owner = await world().creditCaller();
    const { caller, left } = await secretFor(world(), owner, nanoPerCredit);
    const failing = { ...call, body: { ...call.body, model: "no-such-model" } };
    expect((await world().ask(caller, failing)).status).toBe(404);
    expect(await left()).toBe(nanoPerCredit);
    const usage = await fetch(`${world().running.url}/v1/usage`, {
      headers: { authorization: `Bearer ${caller.secret}` },
    });
    expect(usage.status).toBe(401);
  });

  test("is unknown after its hour", async () => {
    const owner = await world().creditCaller();
    const { caller } = await secretFor(world(), owner, nanoPerCredit, Date.now() - 1);
    expect((await world().ask(caller, call)).status).toBe(401);
    expect(await world().chargesOf(owner)).toEqual([]);
  });
});
