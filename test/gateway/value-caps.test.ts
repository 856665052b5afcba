import { afterEach, beforeEach, expect, test } from "bun:test";
import { addCap, type CapContext, raiseCap, updateCap } from "../../src/admin/caps/caps.ts";
import type { NewCapBody } from "../../src/admin/caps/schema.ts";
import { updateKey } from "../../src/admin/keys/change-key.ts";
import { msPerHour, systemClock } from "../../src/base/clock.ts";
import type { KeyUpdate } from "../../src/base/key-attributes.ts";
import { audit } from "../../src/ledger/audit.ts";
import type { SeenRequest } from "../support/provider.ts";
import { onBothStores } from "./on-both-stores.ts";
import { hello, paths, usageOf, wholeAnswer } from "./wire-answers.ts";
import type { Caller, World } from "./world.ts";

/** A call of `big` with 100,000 tokens of output costs exactly 2 credits; of `small`, 0.002. */
function model(id: string, price: number) {
  return `
[[models]]
id = "${id}"
provider = "openai"
upstream_model = "${id}-up"
context_window = 200000
max_output_tokens = 200000
price = { input = 0, output = ${price} }
`;
}
const models = [model("big", 20), model("lone", 20), model("small", 0.02), model("spare", 0.02)].join("");
const outputTokens = 100_000;
const cost = 2;

let tests = 0;
/** A value that no other test has spent anything for: a cap that is added counts what its period has seen. */
const own = (name: string) => `${name}-${tests}`;

interface Asked {
  readonly model?: string;
  readonly user?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const ofProject = (project: string) => ({ headers: { "x-sluice-tags": `project=${project}` } });

function contextOf(world: World): CapContext {
  return { store: world.running.store, clock: systemClock, knownNames: () => null };
}

async function cap(world: World, body: Omit<NewCapBody, "period"> & { period?: NewCapBody["period"] }) {
  const added = await addCap(contextOf(world), { period: "month", ...body });
  await world.gateway.catchUp();
  return added.cap;
}

async function caller(world: World, more: KeyUpdate = {}): Promise<Caller> {
  world.provider.script(answering(outputTokens));
  return world.creditCaller(1_000, more);
}

function answering(tokens: number) {
  return ({ path }: SeenRequest) => {
    const dialect = path.endsWith("/responses") ? "responses" : "chat";
    return wholeAnswer(dialect, { text: "Hi", usage: usageOf(dialect, 0, tokens) });
  };
}

/** `200`, or what was wrong: `429 limit_reached owner_cap ada`. */
async function ask(world: World, who: Caller, { model: id = "big", user, headers = {} }: Asked = {}) {
  const body = hello("chat", id, { max_tokens: outputTokens, ...(user !== undefined && { user }) });
  const response = await world.ask(who, { path: paths.chat, body, headers });
  const { error } = (await response.json()) as {
    error?: { code: string; details?: { bound: string; value?: string | null } };
  };
  await world.settled();
  const { bound, value } = error?.details ?? {};
  return [response.status, error?.code, bound, value].filter((part) => part !== undefined).join(" ");
}

/** What this test has spent, by value. */
async function usedOf(world: World, no: number) {
  const totals = await world.running.store.valueTotals(no);
  const found = totals.filter(({ value, used }) => used > 0 && (value === "" || value.endsWith(`-${tests}`)));
  return Object.fromEntries(found.map(({ value, used }) => [value, used / 1e9]));
}

onBothStores(models, (world) => {
  beforeEach(() => {
    tests += 1;
  });
  afterEach(async () => {
    const { store } = world().running;
    await world().settled();
    expect((await audit(store)).differences).toEqual([]);
    for (const { id } of await store.valueCaps()) await store.removeValueCap(id);
    await world().gateway.catchUp();
  });

  test("every person has a limit over all their keys and accounts, and a key without an owner falls under none", async () => {
    const { no } = await cap(world(), { limit: 4, each: "owner" });
    const [one, two, ben, nobody] = [
      await caller(world(), { owner: own("Ada@Example.com") }),
      await caller(world(), { owner: own("ada@example.com") }),
      await caller(world(), { owner: own("ben") }),
      await caller(world()),
    ];
    expect(await ask(world(), one)).toBe("200");
    expect(await ask(world(), two)).toBe("200");
    expect(await ask(world(), one)).toBe(`429 limit_reached owner_cap ${own("ada@example.com")}`);
    expect(await ask(world(), two, { model: "small" })).toBe(
      `429 limit_reached owner_cap ${own("ada@example.com")}`,
    );
    expect(await ask(world(), ben)).toBe("200");
    for (let n = 0; n < 3; n += 1) expect(await ask(world(), nobody)).toBe("200");
    expect(await usedOf(world(), no)).toEqual({ [own("ada@example.com")]: 2 * cost, [own("ben")]: cost });
  });

  test("one person has more, by a cap of their own in place of the one for each", async () => {
    await cap(world(), { limit: 2, each: "owner" });
    const hers = await cap(world(), { limit: 4, owner: own("ADA@example.com") });
    const [ada, ben] = [
      await caller(world(), { owner: own("ada@example.com") }),
      await caller(world(), { owner: own("ben") }),
    ];
    expect(await ask(world(), ada)).toBe("200");
    expect(await ask(world(), ada)).toBe("200");
    expect(await ask(world(), ada)).toBe(`429 limit_reached owner_cap ${own("ada@example.com")}`);
    expect(await ask(world(), ben)).toBe("200");
    expect(await ask(world(), ben)).toBe(`429 limit_reached owner_cap ${own("ben")}`);
    // More in this period, for this person only.
    await raiseCap(contextOf(world()), hers.id, { amount: 2, note: "release week" });
    await world().gateway.catchUp();
    expect(await ask(world(), ada)).toBe("200");
    expect(await ask(world(), ben)).toBe(`429 limit_reached owner_cap ${own("ben")}`);
  });

  test("a cap for one value with another period or other models holds next to the one for each", async () => {
    await cap(world(), { limit: 4, period: "week", each: "owner" });
    await cap(world(), { limit: 100, period: "month", owner: own("ada") });
    await cap(world(), { limit: 2, period: "week", owner: own("ada"), models: "big" });
    const ada = await caller(world(), { owner: own("ada") });
    expect(await ask(world(), ada)).toBe("200");
    expect(await ask(world(), ada)).toBe(`429 limit_reached owner_cap ${own("ada")}`);
    for (let n = 0; n < 2; n += 1) expect(await ask(world(), ada, { model: "small" })).toBe("200");
    await updateCap(contextOf(world()), (await world().running.store.valueCaps())[2]?.id ?? "", { limit: 9 });
    await world().gateway.catchUp();
    // 1.996 are left of the one for each, which is less than 2.
    expect(await ask(world(), ada)).toBe(`402 insufficient_credit owner_cap ${own("ada")}`);
  });

  test("every end user of a product has a limit, wherever the client names them, and each request has to", async () => {
    const product = await caller(world());
    const other = await caller(world());
    const { no } = await cap(world(), { limit: 2, each: "user", key: product.key.id });
    expect(await ask(world(), product, { user: own("u1") })).toBe("200");
    expect(await ask(world(), product, { user: own("u1") })).toBe(`429 limit_reached user_cap ${own("u1")}`);
    expect(await ask(world(), product, { headers: { "x-sluice-user": own("u1") } })).toBe(
      `429 limit_reached user_cap ${own("u1")}`,
    );
    expect(await ask(world(), product, { headers: { "x-sluice-user": own("u2") } })).toBe("200");
    expect(await ask(world(), product)).toBe("400 invalid_request");
    expect(await ask(world(), product, { user: "" })).toBe("400 invalid_request");
    expect(await ask(world(), other)).toBe("200");
    expect(await usedOf(world(), no)).toEqual({ [own("u1")]: cost, [own("u2")]: cost });
  });

  test("a cap of one end user counts the user by what is kept of the name, without secrets in it", async () => {
    const product = await caller(world());
    const name = own(`slu_${"A1".repeat(18)}`);
    const { id, no } = await cap(world(), { limit: 2, user: name, key: product.key.id });
    expect(await ask(world(), product, { user: name })).toBe("200");
    expect(await ask(world(), product, { user: name })).toStartWith("429 limit_reached user_cap");
    expect(Object.values(await usedOf(world(), no))).toEqual([cost]);
    await raiseCap(contextOf(world()), id, { amount: 2, value: name, note: "more" });
    await world().gateway.catchUp();
    expect(await ask(world(), product, { user: name })).toBe("200");
  });

  test("of those who limit the same at once one adds a cap, and none of two lead in a circle", async () => {
    const { key } = await caller(world());
    const add = (body: Partial<NewCapBody>) =>
      addCap(contextOf(world()), { limit: 2, period: "month", each: "owner", key: key.id, ...body }).then(
        () => "added",
        ({ message }: Error) => message,
      );
    const same = await Promise.all(Array.from({ length: 8 }, () => add({})));
    expect(same.filter((each) => each === "added")).toHaveLength(1);
    expect(same.filter((each) => each.includes("already limits the same"))).toHaveLength(7);
    const circle = await Promise.all([
      add({ models: "big", then: "small" }),
      add({ models: "small", then: "big" }),
    ]);
    expect(circle.filter((each) => each === "added")).toHaveLength(1);
    expect(circle.filter((each) => each.includes("in a circle"))).toHaveLength(1);
    const [cap] = await world().running.store.valueCaps();
    const other = await addCap(contextOf(world()), { limit: 2, period: "day", each: "owner", key: key.id });
    const changed = await Promise.allSettled(
      [cap?.id ?? "", other.cap.id].map((id) => updateCap(contextOf(world()), id, { period: "week" })),
    );
    expect(changed.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  test("a missing label is named in both formats, with where to send it, and nothing runs", async () => {
    const product = await caller(world());
    await cap(world(), { limit: 2, each: "tag:project", key: product.key.id });
    const before = world().provider.requests.length;
    const chat = await world().ask(product, { path: paths.chat, body: hello("chat", "big") });
    expect(chat.status).toBe(400);
    expect(await chat.json()).toMatchObject({
      error: {
        code: "invalid_request",
        message: expect.stringContaining("`project`: send it in the header x-sluice-tags"),
        param: "x-sluice-tags",
      },
    });
    const messages = await world().ask(product, { path: paths.messages, body: hello("messages", "big") });
    expect(messages.status).toBe(400);
    expect(await messages.json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", message: expect.stringContaining("`project`") },
    });
    expect(world().provider.requests.length).toBe(before);
    expect(await ask(world(), product, ofProject(own("atlas")))).toBe("200");
  });

  test("of Claude Code's user only the account counts, so that another session is the same end user", async () => {
    const product = await caller(world());
    const { no } = await cap(world(), { limit: 2, each: "user", key: product.key.id });
    const message = async (session: string) => {
      const metadata = { user_id: `user_0af1_account_${own("5f0c")}_session_${session}` };
      const body = hello("messages", "big", { max_tokens: outputTokens, metadata });
      const response = await world().ask(product, { path: paths.messages, body });
      await response.body?.cancel();
      await world().settled();
      return response.status;
    };
    expect(await message("one")).toBe(200);
    expect(await message("two")).toBe(429);
    expect(await usedOf(world(), no)).toEqual({ [own("5f0c")]: cost });
  });

  test("a project has a limit whoever spends it, which a client evades by leaving out the tag unless the key has it", async () => {
    const { no } = await cap(world(), { limit: 2, tag: `project=${own("atlas")}` });
    const [one, two] = [await caller(world()), await caller(world(), { tags: { project: own("atlas") } })];
    expect(await ask(world(), one, ofProject(own("atlas")))).toBe("200");
    expect(await ask(world(), one, ofProject(own("atlas")))).toBe(
      `429 limit_reached tag_cap ${own("atlas")}`,
    );
    expect(await ask(world(), one, ofProject(own("zephyr")))).toBe("200");
    expect(await ask(world(), one)).toBe("200");
    expect(await ask(world(), two)).toBe(`429 limit_reached tag_cap ${own("atlas")}`);
    expect(await ask(world(), two, ofProject(own("zephyr")))).toBe(
      `429 limit_reached tag_cap ${own("atlas")}`,
    );
    expect(await usedOf(world(), no)).toEqual({ [own("atlas")]: cost });
  });

  test("each project of an account has a limit; in another account it has none", async () => {
    const [inside, outside] = [await caller(world()), await caller(world())];
    const account = inside.key.accountId;
    await cap(world(), { limit: 2, each: "tag:project", account });
    expect(await ask(world(), inside, ofProject(own("atlas")))).toBe("200");
    expect(await ask(world(), inside, ofProject(own("atlas")))).toBe(
      `429 limit_reached tag_cap ${own("atlas")}`,
    );
    expect(await ask(world(), inside, ofProject(own("zephyr")))).toBe("200");
    expect(await ask(world(), inside)).toBe("400 invalid_request");
    for (let n = 0; n < 2; n += 1) expect(await ask(world(), outside, ofProject(own("atlas")))).toBe("200");
  });

  test("a key that moves leaves the counts of the old account's caps there, and takes its owner's along", async () => {
    const [moving, target] = [
      await caller(world(), { owner: own("ada") }),
      await caller(world(), { owner: own("ben") }),
    ];
    const left = await cap(world(), { limit: 9, each: "owner", account: moving.key.accountId });
    const all = await cap(world(), { limit: 4, each: "owner" });
    expect(await ask(world(), moving)).toBe("200");
    await world().running.store.moveKey(moving.key.id, target.key.accountId, Date.now());
    await world().gateway.catchUp();
    expect(await ask(world(), moving)).toBe("200");
    expect(await ask(world(), moving)).toBe(`429 limit_reached owner_cap ${own("ada")}`);
    expect(await usedOf(world(), left.no)).toEqual({ [own("ada")]: cost });
    expect(await usedOf(world(), all.no)).toEqual({ [own("ada")]: 2 * cost });
  });

  test("expensive models have a limit of their own for each person", async () => {
    await cap(world(), { limit: 2, each: "owner", models: "bi*" });
    const [ada, ben] = [
      await caller(world(), { owner: own("ada") }),
      await caller(world(), { owner: own("ben") }),
    ];
    expect(await ask(world(), ada)).toBe("200");
    expect(await ask(world(), ada)).toBe(`429 limit_reached owner_cap ${own("ada")}`);
    expect(await ask(world(), ada, { model: "small" })).toBe("200");
    expect(await ask(world(), ben)).toBe("200");
  });

  test("with --optional, requests without the label count together as one value", async () => {
    const { no } = await cap(world(), { limit: 2, each: "user", optional: true, models: "lone" });
    const who = await caller(world());
    expect(await ask(world(), who, { model: "lone" })).toBe("200");
    const response = await world().ask(await caller(world()), {
      path: paths.chat,
      body: hello("chat", "lone"),
    });
    expect(response.status).toBe(429);
    const { error } = (await response.json()) as { error: { message: string; details: object } };
    expect(error.message).toStartWith(
      "Requests without a label have reached their cap of 2 credits per month",
    );
    expect(error.details).toMatchObject({ bound: "user_cap", value: null });
    expect(await ask(world(), who, { model: "lone", user: own("u1") })).toBe("200");
    expect(await usedOf(world(), no)).toEqual({ "": cost, [own("u1")]: cost });
  });

  test("a refusal has six fields in its details, in both formats", async () => {
    const who = await caller(world(), { owner: own("ada") });
    await cap(world(), { limit: 2, period: "day", each: "owner" });
    expect(await ask(world(), who)).toBe("200");
    const details = {
      bound: "owner_cap",
      period: "day",
      limit: 2,
      used: 2,
      resets_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00Z$/),
      value: own("ada"),
    };
    for (const dialect of ["chat", "messages"] as const) {
      const response = await world().ask(who, { path: paths[dialect], body: hello(dialect, "big") });
      expect(response.status).toBe(429);
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      const { error } = (await response.json()) as { error: { details: object } };
      expect(error.details).toEqual(details);
    }
  });

  test("as many values count as the cap allows; the next new one is refused, and takes no place", async () => {
    const product = await caller(world());
    await cap(world(), { limit: 20, each: "user", key: product.key.id, values: 2 });
    // What is refused for another reason takes none.
    expect(await ask(world(), product, { user: own("u0"), model: "nothing" })).toBe("404 model_not_found");
    expect(await ask(world(), product, { user: own("u1") })).toBe("200");
    expect(await ask(world(), product, { user: own("u2") })).toBe("200");
    expect(await ask(world(), product, { user: own("u3") })).toBe(`429 limit_reached user_cap ${own("u3")}`);
    expect(await ask(world(), product, { user: own("u1") })).toBe("200");
    const response = await world().ask(product, {
      path: paths.chat,
      body: hello("chat", "big", { user: own("u3") }),
    });
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining("at most 2 end users per month") },
    });
  });

  test("of several that refuse alike, the key's is named, then the owner's, the user's, the tag's, the account's", async () => {
    const who = await caller(world(), { owner: own("ada"), tags: { project: own("atlas") } });
    const { id: keyId, accountId } = who.key;
    const { store } = world().running;
    const limit = { limit: 2e9, period: "month", models: null } as const;
    await store.setCaps({ accountId }, [limit], Date.now());
    await store.setCaps({ keyId }, [limit], Date.now());
    await cap(world(), { limit: 2, tag: `project=${own("atlas")}` });
    await cap(world(), { limit: 2, each: "user", key: keyId });
    await cap(world(), { limit: 2, each: "owner" });
    expect(await ask(world(), who, { user: own("u1") })).toBe("200");
    expect(await ask(world(), who, { user: own("u1") })).toBe("429 limit_reached key_cap");
    await store.setCaps({ keyId }, [], Date.now());
    const [tag, user, owner] = await store.valueCaps();
    for (const [bound, { id } = { id: "" }] of [
      [`owner_cap ${own("ada")}`, owner],
      [`user_cap ${own("u1")}`, user],
      [`tag_cap ${own("atlas")}`, tag],
    ] as const) {
      await world().gateway.catchUp();
      expect(await ask(world(), who, { user: own("u1") })).toBe(`429 limit_reached ${bound}`);
      await store.removeValueCap(id);
    }
    await world().gateway.catchUp();
    expect(await ask(world(), who, { user: own("u1") })).toBe("429 limit_reached account_cap");
  });

  test("a new owner counts from the next hold, in caps and in reports, and history stays", async () => {
    const who = await caller(world(), { owner: own("ada") });
    const { no } = await cap(world(), { limit: 9, each: "owner" });
    expect(await ask(world(), who, ofProject(own("atlas")))).toBe("200");
    await updateKey(contextOf(world()), who.key.id, { owner: own("ben") }, null);
    await world().gateway.catchUp();
    expect(await ask(world(), who, ofProject(own("atlas")))).toBe("200");
    expect(await ask(world(), who, ofProject(own("zephyr")))).toBe("200");
    expect(await usedOf(world(), no)).toEqual({ [own("ada")]: cost, [own("ben")]: 2 * cost });
    expect(await spentBy(world(), who, "owner")).toEqual({ [own("ada")]: cost, [own("ben")]: 2 * cost });
    expect(await spentBy(world(), who, "tag:project")).toEqual({
      [own("atlas")]: 2 * cost,
      [own("zephyr")]: cost,
    });
    // A cap that is added later counts the same.
    const later = await cap(world(), { limit: 9, each: "tag:project", key: who.key.id });
    expect(await usedOf(world(), later.no)).toEqual({ [own("atlas")]: 2 * cost, [own("zephyr")]: cost });
  });

  test("/v1/usage names the cap with the least left, of the key's owner and tags too", async () => {
    const who = await caller(world(), { owner: own("ada"), tags: { project: own("atlas") } });
    await cap(world(), { limit: 5, period: "day", each: "owner" });
    const explanation = async ({ secret }: Caller) => {
      const response = await fetch(`${world().running.url}/v1/usage`, {
        headers: { authorization: `Bearer ${secret}` },
      });
      return ((await response.json()) as { explanation: string }).explanation;
    };
    expect(await ask(world(), who)).toBe("200");
    expect(await explanation(who)).toMatch(
      / 3 remain of the key's owner's cap of 5 credits per day, which resets/,
    );
    await cap(world(), { limit: 2.5, tag: `project=${own("atlas")}` });
    expect(await explanation(who)).toContain(" 0.5 remain of the key's tag's cap of 2.5 credits per month");
    const owing = await world().openCaller();
    await cap(world(), { limit: 7, owner: own("eve") });
    await updateKey(contextOf(world()), owing.key.id, { owner: own("eve") }, null);
    await world().gateway.catchUp();
    expect(await explanation(owing)).toContain(" 5 remain of the key's owner's cap of 5 credits per day");
  });

  test("a model to step down to that a reload removes leaves the cap's refusal, and steps down again once it is back", async () => {
    const who = await caller(world(), { owner: own("ada") });
    await cap(world(), { limit: 2, each: "owner", models: "big", then: "spare" });
    expect(await ask(world(), who)).toBe("200");
    expect(await ask(world(), who)).toBe("200");
    await world().reload((config) => config.replace('id = "spare"', 'id = "another"'));
    expect(await ask(world(), who)).toBe(`429 limit_reached owner_cap ${own("ada")}`);
    await world().reload((config) => config);
    expect(await ask(world(), who)).toBe("200");
  });
});

/** What a key has spent, by a label. */
async function spentBy(world: World, { key }: Caller, label: string) {
  const range = { sinceMs: Date.now() - msPerHour, untilMs: Date.now() + msPerHour };
  const groups = await world.running.store.reports.usageBy(label, { ...range, keyId: key.id });
  return Object.fromEntries(groups.map(({ group, spendNano }) => [group, spendNano / 1e9]));
}
