import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createKey } from "../../src/admin/keys/create-key.ts";
import { systemClock } from "../../src/base/clock.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import type { KeySpec } from "../../src/keys/issue.ts";
import { json } from "../support/answers.ts";
import { hello, paths, usageOf, wholeAnswer } from "./wire-answers.ts";
import { type Ask, type Caller, World } from "./world.ts";

/** A table of digits has a token per byte: the provider reports, and bills, as many. */
const table = "7 3 9 1 ".repeat(5_000);
const tableTokens = table.length + 4;
const atOnce = 20;

let world: World;
beforeAll(async () => {
  world = await World.startCounting({
    tail: `
[[models]]
id = "embed"
provider = "openai"
serves = ["embeddings"]
price = { input = 1.0 }
`,
  });
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const chat: Ask = {
  path: paths.chat,
  body: { ...hello("chat", "gpt-test"), messages: [{ role: "user", content: table }], max_tokens: 10 },
};
const embeddings: Ask = { path: "/v1/embeddings", body: { model: "embed", input: table } };

async function callerWith(spec: KeySpec): Promise<Caller> {
  const caller = await createKey({ store: world.running.store, clock: systemClock }, spec);
  await world.gateway.catchUp();
  return caller;
}

const credits = (amount: number) => Math.round(amount * nanoPerCredit);
const capped = { limit: credits(0.6), period: "day", models: null } as const;

/** Sends many at once, and compares what the answers are worth with what was charged for them. */
async function attack(
  caller: Caller,
  ask: Ask,
  worth: number,
): Promise<{ answered: number; unpaid: number }> {
  const answers = await Promise.all(Array.from({ length: atOnce }, () => world.ask(caller, ask)));
  await Promise.all(answers.map((answer) => answer.text()));
  const answered = answers.filter(({ status }) => status === 200).length;
  const charges = await world.chargesOf(caller);
  const charged = charges.reduce((sum, { amount }) => sum - Math.min(0, amount), 0);
  return { answered, unpaid: answered * worth - charged };
}

describe("a table of digits, many times at once,", () => {
  const worthOfChat = tableTokens * 1_000 + 10 * 2_000;
  const said = wholeAnswer("chat", { text: "Hi", usage: usageOf("chat", tableTokens, 10) });

  for (const [what, spec] of Object.entries({
    "a cap of 0.6 a day": { mode: "credit", creditNano: credits(10), caps: [capped] },
    "a balance": { mode: "credit", creditNano: credits(0.6) },
    "a cap of a postpaid account": { mode: "credit", isPostpaid: true, caps: [capped] },
  } satisfies Record<string, KeySpec>)) {
    test(`is held at what it costs under ${what}`, async () => {
      world.provider.script(said);
      const { answered, unpaid } = await attack(await callerWith(spec), chat, worthOfChat);
      expect(answered).toBeWithin(1, Math.floor(credits(0.6) / worthOfChat) + 1);
      expect(unpaid).toBe(0);
    });
  }

  test("is held at what it costs in a token budget", async () => {
    world.provider.script(said);
    const caller = await world.tokenCaller(3 * tableTokens + 100);
    // On a busy machine the tokenizer gives up after 250 ms: what is then held is a larger bound, of which fewer fit.
    const { tokens } = world.gateway;
    const counting = {
      of: (keyId: string) => ({ ...tokens.of(keyId), requestAtMost: async () => tableTokens }),
    };
    Object.assign(world.gateway, { tokens: counting });
    const { answered, unpaid } = await attack(caller, chat, tableTokens + 10);
    Object.assign(world.gateway, { tokens });
    expect(answered).toBe(3);
    expect(unpaid).toBe(0);
  });

  test("is held at what it costs as text to embed", async () => {
    const usage = { prompt_tokens: table.length, total_tokens: table.length };
    const data = [{ object: "embedding", index: 0, embedding: [0.1] }];
    world.provider.script(json({ object: "list", model: "embed", data, usage }));
    const caller = await callerWith({ mode: "credit", creditNano: credits(10), caps: [capped] });
    const { answered, unpaid } = await attack(caller, embeddings, table.length * 1_000);
    expect(answered).toBeWithin(1, 16);
    expect(unpaid).toBe(0);
  });

  test("costs its count as text to embed where the provider reports nothing", async () => {
    world.provider.script(
      json({ object: "list", model: "embed", data: [{ object: "embedding", index: 0, embedding: [0.1] }] }),
    );
    const caller = await world.creditCaller();
    expect((await world.ask(caller, embeddings)).status).toBe(200);
    expect(await world.chargesOf(caller)).toMatchObject([{ amount: -table.length * 1_000 }]);
  });
});

test("what a provider reports above the hold and the balance is counted, and not charged", async () => {
  world.provider.script(wholeAnswer("chat", { text: "Hi", usage: usageOf("chat", 100_000, 10) }));
  const before = world.gateway.accounts.overrun.nano;
  const caller = await world.creditCaller(0.01);
  const response = await world.ask(caller, {
    path: paths.chat,
    body: hello("chat", "gpt-test", { max_tokens: 10 }),
  });
  expect(response.status).toBe(200);
  await response.text();
  const unpaid = 100_000 * 1_000 + 10 * 2_000 - credits(0.01);
  expect(await world.chargesOf(caller)).toMatchObject([{ amount: -credits(0.01) }, { amount: unpaid }]);
  expect(world.gateway.accounts.overrun.nano - before).toBe(unpaid);
});
