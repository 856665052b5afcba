import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { enterKeyCredit } from "../../../src/admin/accounts/enter-credit.ts";
import { type OperationContext, OperationError } from "../../../src/admin/context.ts";
import { findKey, keyPages } from "../../../src/admin/key-terms/find-key.ts";
import { changeStatus, updateKey } from "../../../src/admin/keys/change-key.ts";
import { createKey } from "../../../src/admin/keys/create-key.ts";
import type { KeySpec } from "../../../src/keys/issue.ts";
import { openStore } from "../../../src/store/open.ts";
import { FakeClock } from "../../support/clock.ts";
import { newFolder } from "../../support/new-folder.ts";
import { storedKeyView } from "./stored-view.ts";

const dir = newFolder();
const clock = new FakeClock();
let context: OperationContext;

beforeAll(async () => {
  context = { store: await openStore({ dir, clock, role: "operator" }), clock };
});

afterAll(async () => {
  await context.store.close();
  rmSync(dir, { recursive: true });
});

/** The reason of the refusal; a test that expects one fails when the operation is done. */
async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof OperationError) return error.reason;
    throw error;
  }
  throw new Error("it was not refused");
}

const day = 86_400_000;

describe("what a key may be given", () => {
  const now = clock.wallMs();
  const cases: readonly (readonly [string, KeySpec])[] = [
    ["credit on a token-budget key", { mode: "token_budget", creditNano: 0 }],
    ["a budget on a credit key", { mode: "credit", budgetTokens: 5 }],
    ["a period on a credit key", { mode: "credit", period: "day" }],
    ["hosted tools on a credit key, which pays for them", { mode: "credit", tools: true }],
    ["a label of two lines", { mode: "credit", label: "a\nb" }],
    ["a label without end", { mode: "credit", label: "x".repeat(201) }],
    ["a part of a token", { mode: "token_budget", budgetTokens: 0.5 }],
    ["less than no tokens", { mode: "token_budget", budgetTokens: -1 }],
    ["no requests at all", { mode: "credit", rpmLimit: 0 }],
    ["more requests per minute than a store can hold", { mode: "credit", rpmLimit: 2 ** 31 }],
    ["more requests at once than a store can hold", { mode: "credit", maxConcurrent: 2 ** 31 }],
    ["a scope that is no name", { mode: "credit", scope: "Open AI" }],
    ["an empty list of models", { mode: "credit", models: [] }],
    ["an expiry that has passed", { mode: "credit", expiresAtMs: now }],
  ];

  test.each(cases)("not %s", async (_name, spec) => {
    expect(await refusal(createKey(context, spec))).toBe("invalid_input");
    expect((await context.store.listKeys({ limit: 1 })).keys).toEqual([]);
  });
});

describe("a key's life", () => {
  test("it expires by the clock, and a new expiry revives it", async () => {
    const { key } = await createKey(context, { mode: "credit", expiresAtMs: clock.wallMs() + day });
    const status = async () => (await storedKeyView(context, await findKey(context, key.id))).status;
    expect(await status()).toBe("active");
    clock.advance(day);
    expect(await status()).toBe("expired");
    expect(await refusal(updateKey(context, key.id, { expiresAtMs: clock.wallMs() }))).toBe("invalid_input");
    await updateKey(context, key.id, { expiresAtMs: clock.wallMs() + day });
    expect(await status()).toBe("active");
    await updateKey(context, key.id, { expiresAtMs: null });
    clock.advance(1000 * day);
    expect(await status()).toBe("active");
  });

  test("revoked is final: no change, no credit, no way back", async () => {
    const { key } = await createKey(context, { mode: "credit" });
    await changeStatus(context, key.id, "revoked");
    expect(await refusal(changeStatus(context, key.id, "active"))).toBe("wrong_status");
    expect(await refusal(updateKey(context, key.id, { label: "x" }))).toBe("wrong_status");
    expect(await refusal(enterKeyCredit(context, key.id, "topup", { amountNano: 1 }))).toBe("wrong_status");
    expect((await changeStatus(context, key.id, "revoked")).changed).toBe(false);
  });

  test("an update that names nothing is refused, and one that names null takes the limit away", async () => {
    const { key } = await createKey(context, { mode: "token_budget", budgetTokens: 10, rpmLimit: 1 });
    expect(await refusal(updateKey(context, key.id, {}))).toBe("invalid_input");
    expect(await refusal(updateKey(context, key.id, { label: undefined }))).toBe("invalid_input");
    const updated = await updateKey(context, key.id, { budgetTokens: null });
    expect(updated).toMatchObject({ key: { budgetTokens: null, rpmLimit: 1 }, detail: "budget 10 → none" });
  });

  test("references and notes have an end", async () => {
    const { key } = await createKey(context, { mode: "credit" });
    expect(await refusal(enterKeyCredit(context, key.id, "topup", { amountNano: 1, reference: "" }))).toBe(
      "invalid_input",
    );
    expect(
      await refusal(enterKeyCredit(context, key.id, "topup", { amountNano: 1, note: "x".repeat(201) })),
    ).toBe("invalid_input");
  });
});

describe("finding", () => {
  test("two keys with one prefix are told apart by their ids, and the prefix alone is refused", async () => {
    const { key } = await createKey(context, { mode: "credit" });
    await context.store.insertKey({ ...key, id: "key_twin", accountId: "acc_twin", hash: "0".repeat(64) }, 0);
    expect(await refusal(findKey(context, key.prefix))).toBe("ambiguous_key");
    expect((await findKey(context, "key_twin")).id).toBe("key_twin");
    expect((await findKey(context, "acc_twin")).id).toBe("key_twin");
    expect(await refusal(findKey(context, "key_nobody"))).toBe("unknown_key");
  });

  test("a label names its key while no other key has it, however many have more than it", async () => {
    const { key } = await createKey(context, { mode: "credit", label: "nightly" });
    for (let index = 0; index < 101; index += 1) {
      await createKey(context, { mode: "credit", label: `nightly ${index}` });
    }
    expect((await findKey(context, "nightly")).id).toBe(key.id);
    expect((await findKey(context, "nightly 100")).label).toBe("nightly 100");
    for (const other of ["night", "Nightly", "nightly%", ""]) {
      expect(await refusal(findKey(context, other)), other).toBe("unknown_key");
    }
    const { key: second } = await createKey(context, { mode: "credit", label: "nightly" });
    await expect(findKey(context, "nightly")).rejects.toThrow(
      `"nightly" matches several keys; use an id: ${key.id}, ${second.id}`,
    );
  });

  test("a label that is the beginning of another key's id names neither", async () => {
    const { key } = await createKey(context, { mode: "credit" });
    await createKey(context, { mode: "credit", label: key.id.slice(0, 12) });
    expect(await refusal(findKey(context, key.id.slice(0, 12)))).toBe("ambiguous_key");
    expect((await findKey(context, key.id)).id).toBe(key.id);
  });

  test("a list holds every key, over all pages", async () => {
    const all = async () => (await Array.fromAsync(keyPages(context.store))).flat();
    const before = (await all()).length;
    for (let index = 0; index < 501; index += 1) await createKey(context, { mode: "credit" });
    const ids = new Set((await all()).map(({ id }) => id));
    expect(ids.size).toBe(before + 501);
  });
});

describe("a budget's standing", () => {
  test("starts anew with the period", async () => {
    const { key } = await createKey(context, { mode: "token_budget", budgetTokens: 100, period: "day" });
    const { budget } = await storedKeyView(context, key);
    expect(budget).toMatchObject({ tokens: 100, used: 0, remaining: 100 });
    expect(Date.parse(budget?.resets_at ?? "")).toBe(Math.floor(clock.wallMs() / day) * day + day);
  });
});
