import { expect, spyOn, test } from "bun:test";
import { ClientRequest } from "../../src/gateway/request/client-request.ts";
import { onBothStores } from "./on-both-stores.ts";
import { hello, paths, usageOf, wholeAnswer } from "./wire-answers.ts";
import type { Caller, World } from "./world.ts";

const models = `
[[models]]
id = "gift"
provider = "openai"
upstream_model = "gift-up"
context_window = 200000
max_output_tokens = 100
free = true
`;

/** From here on a body is looked at only if its key can pay. */
const long = "word ".repeat(4_000);
const paid = { models: ["gpt-test"] };

function chat(model: string, content: string, more: object = {}) {
  const usual = hello("chat", model, { max_tokens: 10, ...more });
  return { path: paths.chat, body: { ...usual, messages: [{ role: "user", content }] } };
}

/** A body that no request is, of this many characters. */
const invalid = (content: string) => ({ path: paths.chat, body: { messages: [{ content }] } });

async function codeOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return `${response.status} ${error.code}`;
}

/** A key whose budget of the period is used up. */
async function usedUp(world: World): Promise<Caller> {
  const caller = await world.tokenCaller(100);
  world.provider.script(wholeAnswer("chat", { text: "Hello", usage: usageOf("chat", 90, 10) }));
  expect((await world.ask(caller, chat("gpt-test", "hi"))).status).toBe(200);
  await world.settled();
  return caller;
}

onBothStores(models, (world) => {
  test("a key that can pay for nothing is refused before its body is read", async () => {
    const caller = await world().creditCaller(0, paid);
    using parsed = spyOn(ClientRequest.prototype, "estimateInput");
    for (const asked of [chat("gpt-test", long), invalid(long)]) {
      const response = await world().ask(caller, asked);
      expect(response.headers.get("x-should-retry")).toBe("false");
      expect(await codeOf(response)).toBe("402 insufficient_credit");
    }
    expect(parsed).not.toHaveBeenCalled();
    await world().settled();
    expect(world().provider.requests).toHaveLength(0);
  });

  test("a key whose budget is used up is told when it resets, before its body is read", async () => {
    const caller = await usedUp(world());
    const response = await world().ask(caller, invalid(long));
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await codeOf(response)).toBe("429 limit_reached");
  });

  test("a key that can pay for anything gets the errors of its body first", async () => {
    for (const credits of [10, 0.000001]) {
      const caller = await world().creditCaller(credits, paid);
      expect(await codeOf(await world().ask(caller, invalid(long)))).toBe("400 invalid_request");
      expect(await codeOf(await world().ask(caller, chat("no-such", long)))).toBe("404 model_not_found");
    }
  });

  test("a small body is read before money is looked at", async () => {
    const caller = await world().creditCaller(0, paid);
    expect(await codeOf(await world().ask(caller, invalid("hi")))).toBe("400 invalid_request");
    expect(await codeOf(await world().ask(caller, chat("gpt-test", "hi")))).toBe("402 insufficient_credit");
  });

  test("a key without credit may use free models, and gets what it has paid for again", async () => {
    world().provider.script(wholeAnswer("chat", { text: "Hello", usage: usageOf("chat", 10, 10) }));
    const poor = await world().creditCaller(0);
    expect((await world().ask(poor, chat("gift", long))).status).toBe(200);

    const caller = await world().creditCaller(0.03, paid);
    world().provider.script(wholeAnswer("chat", { text: "Hello", usage: usageOf("chat", 30_000, 0) }));
    const headers = { "idempotency-key": "again" };
    expect((await world().ask(caller, { ...chat("gpt-test", long), headers })).status).toBe(200);
    await world().settled();
    expect(await codeOf(await world().ask(caller, invalid(long)))).toBe("402 insufficient_credit");
    const again = await world().ask(caller, { ...chat("gpt-test", long), headers });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  });

  test("a key that is topped up is served at once", async () => {
    const caller = await world().creditCaller(0, paid);
    expect(await codeOf(await world().ask(caller, chat("gpt-test", long)))).toBe("402 insufficient_credit");
    const topUp = { keyId: caller.key.id, amountNano: 1e9, reference: null, note: null, atMs: Date.now() };
    await world().running.store.recordTopUp(topUp);
    await world().gateway.catchUp();
    world().provider.script(wholeAnswer("chat", { text: "Hello", usage: usageOf("chat", 10, 10) }));
    expect((await world().ask(caller, chat("gpt-test", long))).status).toBe(200);
  });

  test("a cap for other models refuses nothing before the body is read", async () => {
    const caller = await world().creditCaller(10, paid);
    const none = { limit: 0, period: "day", models: "gift*" } as const;
    await world().running.store.setCaps({ keyId: caller.key.id }, [none], Date.now());
    await world().gateway.catchUp();
    expect(await codeOf(await world().ask(caller, invalid(long)))).toBe("400 invalid_request");
  });
});
