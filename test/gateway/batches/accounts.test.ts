import { beforeEach, expect, test } from "bun:test";
import { closeAccount, createAccount } from "../../../src/admin/accounts/accounts.ts";
import { addCap, updateCap } from "../../../src/admin/caps/caps.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { audit } from "../../../src/ledger/audit.ts";
import { usualResponse } from "../../support/fixtures.ts";
import { costOf, MessageBatches, nativeModel } from "../../support/message-batches.ts";
import { waitFor } from "../../support/wait.ts";
import { onBothStores } from "../on-both-stores.ts";
import type { Caller, World } from "../world.ts";
import { BatchClient, chatLines } from "./batch-world.ts";

const settings = '\n[batches]\nprovider_poll = "100ms"\n';
const native = (count: number) => chatLines(count, { model: "claude-batch" });
const sumOf = (count: number) =>
  Array.from({ length: count }, (_, n) => costOf(n)).reduce((a, b) => a + b, 0);
let tests = 0;

/** What becomes of batches when a key moves to another account, is revoked, or its account is closed; and caps over them. */
onBothStores(nativeModel + settings, (place) => {
  let world: World;
  let caller: Caller;
  let client: BatchClient;
  let batches: MessageBatches;
  beforeEach(async () => {
    tests += 1;
    world = place();
    batches = new MessageBatches();
    world.provider.script(batches.script);
    caller = await world.creditCaller(10, { owner: `ada-${tests}` });
    client = BatchClient.of(world, caller);
  });

  const context = () => ({ store: world.running.store, clock: systemClock, knownNames: () => null });
  const newAccount = async () => {
    const spec = { mode: "credit", label: `account ${tests}`, creditNano: 10_000_000_000 } as const;
    return (await createAccount(context(), spec)).account.id;
  };
  /** The nano-credits that an account was charged, and what is reserved of it. */
  const standing = async (id: string) => {
    const [found] = await world.running.store.readAccounts([id]);
    const [summary] = await world.gateway.accounts.summaries([caller.key.id]);
    return { used: found?.totals.used, held: summary?.held ?? 0 };
  };
  const move = async (to: string) => {
    await world.running.store.moveKey(caller.key.id, to, Date.now());
    await world.gateway.catchUp();
  };
  const stored = (id: string) => world.running.store.batches.get(id);
  const expectBooks = async () => {
    await world.settled();
    expect((await audit(world.running.store)).differences).toEqual([]);
  };
  /** Lets eight lines wait at their provider. */
  const begun = async (lines: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
    const { id } = await client.create(chatLines(lines));
    await waitFor(() => world.provider.requests.length >= 8, "eight lines to run");
    return { id, letGo: resolve };
  };
  const sent = async (lines: number) => {
    batches.takesMs = 600_000;
    const { id } = await client.create(native(lines));
    await waitFor(() => batches.linesSent.length === lines, "the lines to be sent");
    return id;
  };
  const letEnd = () => {
    for (const batch of batches.batches) batch.endsAtMs = Date.now();
  };

  test("lines that start after a move are billed to the new account, those that run to the old one", async () => {
    const other = await newAccount();
    const { id, letGo } = await begun(20);
    await move(other);
    letGo();
    expect((await client.untilEnded(id)).request_counts.completed).toBe(20);
    const [charge] = await world.chargesOf(caller);
    const cost = -(charge?.amount ?? 0);
    expect((await standing(caller.key.accountId)).used).toBe(8 * cost);
    expect(await standing(other)).toEqual({ used: 12 * cost, held: 0 });
    await expectBooks();
  });

  test("lines at a provider are billed to the account that holds them, later ones to the new account", async () => {
    const other = await newAccount();
    const id = await sent(5);
    await move(other);
    letEnd();
    expect((await client.untilEnded(id)).request_counts.completed).toBe(5);
    batches.takesMs = 0;
    expect((await client.untilEnded((await client.create(native(3))).id)).request_counts.completed).toBe(3);
    expect((await standing(caller.key.accountId)).used).toBe(sumOf(5));
    expect(await standing(other)).toEqual({ used: sumOf(3), held: 0 });
    await expectBooks();
  });

  test("a batch of a closed account starts no line, and what ran is charged", async () => {
    const other = await newAccount();
    await move(other);
    const { id, letGo } = await begun(20);
    await closeAccount(context(), other);
    await world.gateway.catchUp();
    letGo();
    await waitFor(async () => (await stored(id))?.waitsFor === "key", "the batch to wait");
    expect(await stored(id)).toMatchObject({ completed: 8, failed: 0 });
    expect(await world.chargesOf(caller)).toHaveLength(8);
    expect((await standing(other)).held).toBe(0);
    await world.running.store.batches.cancel(caller.key.id, id, Date.now());
    world.gateway.batches.wake();
    await waitFor(async () => (await stored(id))?.endedAtMs != null, "the batch to end");
    expect(await stored(id)).toMatchObject({ status: "cancelled", completed: 8, failed: 12 });
    await expectBooks();
  });

  test("lines at a provider are charged to an account that was closed meanwhile", async () => {
    const other = await newAccount();
    await move(other);
    const id = await sent(5);
    await closeAccount(context(), other);
    await world.gateway.catchUp();
    letEnd();
    await waitFor(async () => (await stored(id))?.endedAtMs != null, "the batch to end");
    expect(await stored(id)).toMatchObject({ completed: 5, failed: 0 });
    expect(await standing(other)).toEqual({ used: sumOf(5), held: 0 });
    await expectBooks();
  });

  test("lines at a provider of a revoked key are cancelled there, and what ran is charged", async () => {
    const id = await sent(6);
    await world.running.store.updateKey(caller.key.id, { status: "revoked" });
    await world.gateway.catchUp();
    await waitFor(async () => (await stored(id))?.endedAtMs != null, "the batch to end");
    const ran = batches.batches.flatMap(({ lines }) => lines.filter((_, at) => at % 2 === 0)).length;
    expect(await stored(id)).toMatchObject({ status: "cancelled", completed: ran, failed: 6 - ran });
    expect(await world.chargesOf(caller)).toHaveLength(ran);
    expect((await standing(caller.key.accountId)).held).toBe(0);
    await expectBooks();
  });

  test("a cap for an owner counts what lines at a provider hold, and is never exceeded", async () => {
    const limit = 0.0001;
    const { cap } = await addCap(context(), { period: "month", limit, owner: `ada-${tests}` });
    await world.gateway.catchUp();
    const { id } = await client.create(native(12));
    await client.until(id, ({ sluice }) => sluice.reason === "owner_cap");
    await waitFor(async () => (await standing(caller.key.accountId)).held === 0, "what was sent to end");
    const { used = 0 } = await standing(caller.key.accountId);
    expect(used).toBeLessThanOrEqual(limit * 1e9);
    await updateCap(context(), cap.id, { limit: 1 });
    await world.gateway.catchUp();
    world.gateway.batches.wake();
    expect((await client.untilEnded(id)).request_counts.completed).toBe(12);
    expect((await standing(caller.key.accountId)).used).toBe(sumOf(12));
    await expectBooks();
  }, 60_000);

  test("so does a cap of the account", async () => {
    const limit = 100_000;
    const owner = { accountId: caller.key.accountId };
    const caps = (most: number) => [{ limit: most, period: "month", models: null }] as const;
    await world.running.store.setCaps(owner, caps(limit), Date.now());
    await world.gateway.catchUp();
    const { id } = await client.create(native(12));
    await client.until(id, ({ sluice }) => sluice.reason === "account_cap");
    await waitFor(async () => (await standing(caller.key.accountId)).held === 0, "what was sent to end");
    expect((await standing(caller.key.accountId)).used ?? 0).toBeLessThanOrEqual(limit);
    await world.running.store.setCaps(owner, caps(1_000_000_000), Date.now());
    await world.gateway.catchUp();
    world.gateway.batches.wake();
    expect((await client.untilEnded(id)).request_counts.completed).toBe(12);
    expect((await standing(caller.key.accountId)).used).toBe(sumOf(12));
    await expectBooks();
  }, 60_000);
});
