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

/** Without what differs between any two requests: ids. */
async function refusalOf(response: Response) {
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  const message = error?.message.replaceAll(/"(?:msg|conv|resp)_\w+"/g, "ID");
  return { status: response.status, code: error?.code, message };
}

onBothStores("[routes]\nconversations = true\nstored_responses = true\n", (world) => {
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

  test("continues nothing that its key has stored, and learns not whether it exists", async () => {
    const owner = await world().creditCaller();
    const respond = (caller: Caller, more: object) =>
      world().ask(caller, { path: "/v1/responses", body: { model: "gpt-test", input: "Hello", ...more } });
    const made = (await (await respond(owner, {})).json()) as { id: string; output: { id: string }[] };
    const started = await world().ask(owner, { path: "/v1/conversations", body: {} });
    const conversation = ((await started.json()) as { id: string }).id;
    const { caller } = await secretFor(world(), owner, nanoPerCredit);
    const before = world().provider.requests.length;
    const naming = (response: string, item: string | undefined, named: string) => [
      { previous_response_id: response },
      { conversation: named },
      { conversation: { id: named } },
      { input: [{ type: "item_reference", id: item }] },
      { previous_response_id: response, background: true },
    ];
    const stored = naming(made.id, made.output[0]?.id, conversation);
    const unknown = naming("resp_unknown", "msg_unknown", "conv_unknown");
    for (const [index, more] of stored.entries()) {
      const answers = await Promise.all([respond(caller, more), respond(caller, unknown[index] ?? {})]);
      const [known, other] = await Promise.all(answers.map(refusalOf));
      expect(known?.status).toBeOneOf([400, 404]);
      expect(known).toEqual(other);
      expect((await respond(owner, more)).status).toBe(200);
    }
    await world().settled();
    expect(world().provider.requests.length).toBe(before + stored.length);
  });

  test("its requests have its key's tags, and its key's caps bind them", async () => {
    const cap = { limit: 1, period: "month", models: null } as const;
    const capped = await world().creditCaller(10, { caps: [cap] });
    const { caller: bound, left } = await secretFor(world(), capped, nanoPerCredit);
    const rejected = await world().ask(bound, call);
    expect(rejected.status).toBe(402);
    expect(await rejected.json()).toMatchObject({ error: { details: { bound: "key_cap" } } });
    expect(await left()).toBe(nanoPerCredit);
    const tagged = await world().creditCaller(10, { tags: { project: "atlas" } });
    const { caller } = await secretFor(world(), tagged, nanoPerCredit);
    const response = await world().ask(caller, call);
    await response.text();
    await world().settled();
    const id = response.headers.get("x-request-id") ?? "";
    const found = await world().running.store.reports.exchange(id, null);
    expect(found?.exchange).toMatchObject({
      keyId: tagged.key.id,
      labels: { tags: { project: "atlas" } },
    });
  });

  test("begins nothing in the background, which would go on without its amount", async () => {
    const owner = await world().creditCaller();
    const { caller } = await secretFor(world(), owner, nanoPerCredit);
    const body = { model: "gpt-test", input: "Hello", background: true };
    expect((await world().ask(caller, { path: "/v1/responses", body })).status).toBe(400);
    expect((await world().ask(owner, { path: "/v1/responses", body })).status).toBe(200);
    await world().settled();
    expect(await world().chargesOf(owner)).toHaveLength(1);
  });

  test("gets no stored response of its key's clients, and its own again", async () => {
    const owner = await world().creditCaller();
    const again = { ...call, headers: { "idempotency-key": "once" } };
    expect((await world().ask(owner, again)).status).toBe(200);
    const { caller } = await secretFor(world(), owner, nanoPerCredit);
    const replays = async () => (await world().ask(caller, again)).headers.get("idempotent-replayed");
    expect([await replays(), await replays()]).toEqual([null, "true"]);
  });

  test("is unknown after its hour", async () => {
    const owner = await world().creditCaller();
    const { caller } = await secretFor(world(), owner, nanoPerCredit, Date.now() - 1);
    expect((await world().ask(caller, call)).status).toBe(401);
    expect(await world().chargesOf(owner)).toEqual([]);
  });
});
