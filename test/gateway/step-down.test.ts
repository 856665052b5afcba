import { expect, test } from "bun:test";
import { newId } from "../../src/base/id.ts";
import type { KeyUpdate } from "../../src/base/key-attributes.ts";
import type { NewValueCap } from "../../src/store/store.ts";
import { json } from "../support/answers.ts";
import { onBothStores } from "./on-both-stores.ts";
import { hello, paths, usageOf, wholeAnswer } from "./wire-answers.ts";
import type { Caller, World } from "./world.ts";

/** A call of `big` with 100,000 tokens of output costs 2 credits, one of the others a thousandth. */
function model(id: string, price: number, more = "") {
  return `
[[models]]
id = "${id}"
provider = "openai"
upstream_model = "${id}-up"
context_window = 200000
max_output_tokens = 200000
price = { input = ${price / 20}, output = ${price} }
${more}
`;
}
const models = [
  "[routes]\nconversations = true\nstored_responses = true\n",
  model("big", 20, 'fallbacks = ["middle"]'),
  model("middle", 2),
  model("small", 0.02, 'fallbacks = ["big"]'),
  model("narrow", 0.02)
    .replace("context_window = 200000", "context_window = 200100")
    .replace("max_output_tokens = 200000", "max_output_tokens = 50"),
  model("blunt", 0.02, "capabilities = { tools = false }"),
  model("other", 0.02).replace('provider = "openai"', 'provider = "anthropic"'),
].join("");

const outputTokens = 100_000;
const bigCost = 2;
const smallCost = 0.002;
const answered = () => wholeAnswer("chat", { text: "Hello", usage: usageOf("chat", 0, outputTokens) });

function body(model = "big", more: object = {}) {
  return hello("chat", model, { max_tokens: outputTokens, ...more });
}

async function cap(world: World, { key }: Caller, more: Partial<NewValueCap>) {
  const { no } = await world.running.store.insertValueCap(
    {
      ...{ id: newId("cap_"), keyId: key.id, accountId: null, mode: "credit", label: "owner", value: null },
      ...{ limit: 3e9, period: "day", models: "big", isOptional: false, maxValues: 100 },
      ...{ thenModel: "small", thenAlways: false },
      ...more,
    },
    Date.now(),
  );
  await world.gateway.catchUp();
  return no;
}

async function caller(world: World, more: KeyUpdate = {}, credits = 1_000) {
  world.provider.script(answered);
  return world.creditCaller(credits, { owner: "ada", ...more });
}

async function ask(
  world: World,
  who: Caller,
  request: object = body(),
  headers: Record<string, string> = {},
) {
  const response = await world.ask(who, { path: paths.chat, body: request, headers });
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  return {
    status: response.status,
    code: error?.code ?? null,
    message: error?.message ?? null,
    served: response.headers.get("x-sluice-model"),
    id: response.headers.get("x-request-id") ?? "",
  };
}

async function chargesOf(world: World, { key }: Caller) {
  await world.settled();
  const entries = await world.running.store.listEntries({ afterId: 0, limit: 100, keyId: key.id });
  return entries
    .filter(({ kind }) => kind === "charge")
    .map(({ model, requestedModel, amount }) => ({ model, requestedModel, cost: -amount / 1e9 }));
}

async function usedOf(world: World, no: number) {
  await world.settled();
  return (await world.running.store.valueTotals(no)).map(({ used }) => used / 1e9);
}

onBothStores(models, (world) => {
  test("beyond a cap the request runs on the model that it names, at that model's price, and counts by it alone", async () => {
    const who = await caller(world());
    const bigNo = await cap(world(), who, {});
    const smallNo = await cap(world(), who, { models: "small", limit: 100e9, thenModel: null });
    expect(await ask(world(), who)).toMatchObject({ status: 200, served: null });
    // 1 of 3 credits is left, which is too little for another one.
    const second = await ask(world(), who);
    expect(second).toMatchObject({ status: 200, served: "small" });
    const [first, stepped] = await chargesOf(world(), who);
    expect(first).toMatchObject({ model: "big", requestedModel: null });
    expect(first?.cost).toBeCloseTo(bigCost, 3);
    expect(stepped).toMatchObject({ model: "small", requestedModel: "big" });
    expect(stepped?.cost).toBeCloseTo(smallCost, 6);
    expect(await usedOf(world(), bigNo)).toEqual([first?.cost ?? 0]);
    expect(await usedOf(world(), smallNo)).toEqual([stepped?.cost ?? 0]);
    const found = await world().running.store.reports.exchange(second.id, null);
    expect(found?.exchange).toMatchObject({
      model: "small",
      labels: { steppedDownFrom: "big", fallbackFrom: null, tags: {} },
    });
    expect(found?.attempts.at(-1)?.denied).toEqual([
      { model: "big", message: expect.stringContaining("3 credits per day for big are left") },
    ]);
    expect(world().observed.at(-1)).toMatchObject({ model: "small", steppedDownFrom: "big" });
    expect(world().provider.requests.map(({ body: sent }) => sent["model"])).toEqual(["big-up", "small-up"]);
  });

  test("the reason of the cap makes no difference: used up, too little left, or reserved by others", async () => {
    const usedUp = await caller(world());
    await cap(world(), usedUp, { limit: 2e9 });
    await ask(world(), usedUp);
    expect(await ask(world(), usedUp)).toMatchObject({ status: 200, served: "small" });

    const reserved = await caller(world());
    await cap(world(), reserved, { limit: 3e9 });
    const both = await Promise.all([ask(world(), reserved), ask(world(), reserved)]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(both.map(({ served }) => served))).toEqual(new Set([null, "small"]));
  });

  test("however many requests race, what runs on the capped model stays within the cap", async () => {
    const who = await caller(world());
    const no = await cap(world(), who, { limit: 10e9 });
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(world(), who)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const charges = await chargesOf(world(), who);
    expect(charges).toHaveLength(40);
    const onBig = charges.filter(({ model }) => model === "big");
    expect(onBig.length).toBe(answers.filter(({ served }) => served === null).length);
    expect(onBig.length).toBeLessThanOrEqual(10 / bigCost);
    expect(onBig.length).toBeGreaterThan(0);
    const spent = onBig.reduce((sum, { cost }) => sum + Math.round(cost * 1e9), 0);
    expect(await usedOf(world(), no)).toEqual([spent / 1e9]);
  });

  test("balance, and caps that name no other model, reject as ever, even if another cap would step down", async () => {
    const poor = await caller(world(), {}, 1);
    await cap(world(), poor, { limit: 1e9 });
    expect(await ask(world(), poor)).toMatchObject({
      status: 402,
      code: "insufficient_credit",
      served: null,
    });

    const capped = await caller(world());
    await cap(world(), capped, { limit: 1e9 });
    await cap(world(), capped, { limit: 1e9, period: "month", models: "b*", thenModel: null });
    const answer = await ask(world(), capped);
    expect(answer).toMatchObject({ status: 402, served: null });
    expect(answer.message).toContain("per month for b*");
    expect(await chargesOf(world(), capped)).toEqual([]);
  });

  test("caps can lead from model to model, and the caps of the last one hold", async () => {
    const who = await caller(world());
    await cap(world(), who, { limit: 1e9, thenModel: "middle" });
    const middle = await cap(world(), who, { limit: 1e8, models: "middle", thenModel: "small" });
    expect(await ask(world(), who)).toMatchObject({ status: 200, served: "small" });
    expect(await usedOf(world(), middle)).toEqual([]);
    const [charge] = await chargesOf(world(), who);
    expect(charge).toMatchObject({ model: "small", requestedModel: "big" });
    await cap(world(), who, { limit: 1e6, models: "small", thenModel: null });
    const refused = await ask(world(), who);
    expect(refused).toMatchObject({ status: 429, code: "limit_reached" });
    expect(refused.message).toContain("for small");
  });

  test("a circle, which only another configuration can make, ends with the error of the cap", async () => {
    const who = await caller(world());
    await cap(world(), who, { limit: 1e9 });
    await cap(world(), who, { limit: 1e3, models: "small", thenModel: "big" });
    expect(await ask(world(), who)).toMatchObject({ status: 402, code: "insufficient_credit" });
    expect(await chargesOf(world(), who)).toEqual([]);
    await world().settled();
    expect(world().gateway.accounts.openHolds).toBe(0);
  });

  test("a model that is gone, or cannot take the request, leaves the error of the cap", async () => {
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
    const cases: readonly (readonly [string, object])[] = [
      ["gone", body()],
      ["narrow", body()],
      ["blunt", body("big", { tools })],
    ];
    for (const [thenModel, request] of cases) {
      const who = await caller(world());
      await cap(world(), who, { limit: 1e9, thenModel });
      const answer = await ask(world(), who, request);
      expect(answer).toMatchObject({ status: 402, code: "insufficient_credit", served: null });
      expect(answer.message).toContain("1 credit per day for big");
      expect(await chargesOf(world(), who)).toEqual([]);
      expect(world().provider.requests).toEqual([]);
    }
  });

  test("a request that cannot be translated for the other model's provider keeps the error of the cap", async () => {
    const who = await caller(world());
    await cap(world(), who, { limit: 1e9, thenModel: "other" });
    const several = await ask(world(), who, body("big", { n: 2, max_tokens: 50_000 }));
    expect(several).toMatchObject({ status: 402, code: "insufficient_credit", served: null });
    expect(several.message).toContain("for big");
    expect(world().provider.requests).toEqual([]);
    expect(await chargesOf(world(), who)).toEqual([]);
  });

  test("the key's list of models does not bind the other model, its provider does", async () => {
    const listed = await caller(world(), { models: ["big"] });
    await cap(world(), listed, { limit: 1e9 });
    expect(await ask(world(), listed)).toMatchObject({ status: 200, served: "small" });

    const bound = await caller(world(), { scope: "openai" });
    await cap(world(), bound, { limit: 1e9, thenModel: "other" });
    expect(await ask(world(), bound)).toMatchObject({ status: 402, served: null });
  });

  test("a fallback of the other model is held for under its own caps", async () => {
    const who = await caller(world());
    await cap(world(), who, { limit: 1e9 });
    world().provider.script(({ body: sent }) =>
      sent["model"] === "small-up" ? json({ error: { message: "down" } }, { status: 500 }) : answered(),
    );
    // `small` falls back to `big`, which the cap denies still.
    expect(await ask(world(), who)).toMatchObject({ status: 502, served: "small" });
    expect(await chargesOf(world(), who)).toEqual([]);
  });

  test("tokens per minute of the other model are what is reserved", async () => {
    const who = await caller(world(), {
      tpmLimits: [
        { limit: 300_000, models: "big" },
        { limit: 150_000, models: "small" },
      ],
    });
    await cap(world(), who, { limit: 1e9 });
    expect(await ask(world(), who)).toMatchObject({ status: 200, served: "small" });
    expect(await ask(world(), who)).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    // The ones of `big` were given back each time.
    await world().running.store.updateKey(who.key.id, { tpmLimits: [{ limit: 300_000, models: "big" }] });
    await world().gateway.catchUp();
    for (let n = 0; n < 4; n += 1)
      expect(await ask(world(), who)).toMatchObject({ status: 200, served: "small" });
  });

  /** One cap is used up, so that the next request would step down. */
  async function exhausted(more: Partial<NewValueCap> = {}) {
    const who = await caller(world());
    await cap(world(), who, { limit: 1e9, ...more });
    return who;
  }

  const signed = {
    role: "assistant",
    content: "",
    tool_calls: [
      {
        id: "c1",
        type: "function",
        function: { name: "f", arguments: "{}" },
        extra_content: { google: { thought_signature: "c2ln" } },
      },
    ],
  };
  const stateful: readonly (readonly [string, string, object])[] = [
    [
      "sealed reasoning",
      paths.responses,
      {
        input: [
          { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" },
          { role: "user", content: "Hello" },
        ],
      },
    ],
    [
      "a compacted conversation",
      paths.responses,
      {
        input: [
          { type: "compaction", id: "cmp_1", encrypted_content: "x" },
          { role: "user", content: "Hello" },
        ],
      },
    ],
    [
      "signed thinking",
      paths.messages,
      {
        max_tokens: outputTokens,
        messages: [
          { role: "user", content: "Hello" },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "Hm", signature: "x" },
              { type: "text", text: "Hi" },
            ],
          },
          { role: "user", content: "Go on" },
        ],
      },
    ],
    [
      "a signed call",
      paths.chat,
      {
        max_tokens: outputTokens,
        messages: [
          { role: "user", content: "Hello" },
          signed,
          { role: "tool", tool_call_id: "c1", content: "1" },
        ],
      },
    ],
  ];
  test.each(stateful)("a request that continues %s keeps the error of the cap", async (_, path, more) => {
    const who = await exhausted();
    const response = await world().ask(who, {
      path,
      body: { model: "big", max_output_tokens: outputTokens, ...more },
    });
    expect(response.status).toBe(402);
    expect(response.headers.get("x-sluice-model")).toBeNull();
    expect(world().provider.requests).toEqual([]);
  });

  const responded = () =>
    wholeAnswer("responses", { text: "Hello", usage: usageOf("responses", 5, outputTokens) });

  test("a request that continues what is stored keeps the error of the cap, unless thenAlways", async () => {
    const who = await caller(world());
    world().provider.script(responded);
    const respond = (body: object) => world().ask(who, { path: paths.responses, body });
    const first = await respond({
      model: "middle",
      input: "Hello",
      conversation: await newConversation(who),
    });
    const { id, output } = (await first.json()) as { id: string; output: { id: string }[] };
    await cap(world(), who, { limit: 1e9 });
    const asked = { model: "big", max_output_tokens: outputTokens };
    const continuing = [
      { ...asked, input: "Hello", previous_response_id: id },
      { ...asked, input: "Hello", conversation: await newConversation(who) },
      { ...asked, input: [{ type: "item_reference", id: output[0]?.id }] },
    ];
    for (const body of continuing) expect((await respond(body)).status).toBe(402);
    const always = await caller(world());
    world().provider.script(responded);
    await cap(world(), always, { limit: 1e9, thenAlways: true });
    const conversation = await newConversation(always);
    const stepped = await world().ask(always, {
      path: paths.responses,
      body: { ...asked, input: "Hello", conversation },
    });
    expect([stepped.status, stepped.headers.get("x-sluice-model")]).toEqual([200, "small"]);
  });

  async function newConversation(who: Caller): Promise<string> {
    const response = await world().ask(who, { path: "/v1/conversations", body: {} });
    return ((await response.json()) as { id: string }).id;
  }

  test("a session whose prompt the denied model has cached keeps the error for five minutes, unless thenAlways", async () => {
    const who = await caller(world());
    const no = await cap(world(), who, { limit: 3e9 });
    const named = { "x-session-id": "s1" };
    const cached = {
      prompt_tokens: 5,
      completion_tokens: outputTokens,
      total_tokens: outputTokens + 5,
      prompt_tokens_details: { cached_tokens: 4 },
    };
    world().provider.script(() => wholeAnswer("chat", { text: "Hello", usage: cached }));
    expect(await ask(world(), who, body(), named)).toMatchObject({ status: 200, served: null });
    expect(await ask(world(), who, body(), named)).toMatchObject({ status: 402, served: null });
    // Another session, and a request without one, have nothing cached.
    expect(await ask(world(), who, body(), { "x-session-id": "s2" })).toMatchObject({ served: "small" });
    expect(await ask(world(), who)).toMatchObject({ served: "small" });
    const { store, gateway } = world().running;
    const old = store.lastRequestOfSession(who.key.id, "s1", Date.now() + 1);
    expect([await store.lastRequestOfSession(who.key.id, "s1", Date.now() - 60_000), await old]).toEqual([
      { model: "big", cachedInputTokens: 4 },
      null,
    ]);
    const id = (await store.valueCaps()).find((each) => each.no === no)?.id ?? "";
    await store.updateValueCap(id, { thenAlways: true }, Date.now());
    await gateway.catchUp();
    expect(await ask(world(), who, body(), named)).toMatchObject({ status: 200, served: "small" });
    // It has run on the other model since.
    await store.updateValueCap(id, { thenAlways: false }, Date.now());
    await gateway.catchUp();
    expect(await ask(world(), who, body(), named)).toMatchObject({ status: 200, served: "small" });
  });
});
