import { afterEach, beforeEach, expect, test } from "bun:test";
import { openAiError } from "../../support/answers.ts";
import { usualResponse } from "../../support/fixtures.ts";
import { waitFor } from "../../support/wait.ts";
import { onBothStores } from "../on-both-stores.ts";
import type { Caller, World } from "../world.ts";
import { BatchClient, chatLines } from "./batch-world.ts";

/** What changes while a batch runs: its model, its key, what a key may store, and its provider. */
onBothStores("", (place) => {
  let world: World;
  let caller: Caller;
  let client: BatchClient;
  beforeEach(async () => {
    world = place();
    caller = await world.creditCaller();
    client = BatchClient.of(world, caller);
  });
  afterEach(() => world.reload((config) => config));

  /** Lets eight lines wait at their provider. */
  async function begun(lines: number): Promise<{ readonly id: string; letGo(): void }> {
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
    const { id } = await client.create(chatLines(lines, { model: "claude-test" }));
    await waitFor(() => world.provider.requests.length >= 8, "eight lines to run");
    return { id, letGo: resolve };
  }

  test("a model that is removed fails the lines that have not started", async () => {
    const { id, letGo } = await begun(20);
    await world.reload((config) => config.replace('id = "claude-test"', 'id = "another-test"'));
    letGo();
    const ended = await client.untilEnded(id);
    expect(ended.request_counts).toEqual({ total: 20, completed: 8, failed: 12 });
    const errors = await client.content(ended.error_file_id);
    expect(errors.map(({ response }) => response?.status_code)).toEqual(Array(12).fill(404));
    expect(await world.chargesOf(caller)).toHaveLength(8);
  });

  test("a model that is removed after a line was charged does not take its result away", async () => {
    const { batches } = world.gateway.batches.store;
    const { endLine } = batches;
    let failures = 1;
    const dying: Partial<typeof batches> = {
      endLine: (...ended) => {
        failures -= 1;
        return failures >= 0 ? Promise.reject(new Error("The process was killed.")) : endLine(...ended);
      },
    };
    Object.assign(batches, dying);
    const { id, letGo } = await begun(8);
    await world.reload((config) => config.replace('id = "claude-test"', 'id = "another-test"'));
    letGo();
    const ended = await client.untilEnded(id);
    Object.assign(batches, { endLine });
    expect(ended.request_counts).toEqual({ total: 8, completed: 8, failed: 0 });
    expect(await world.chargesOf(caller)).toHaveLength(8);
  });

  test("a full key waits for space, and loses nothing that is paid", async () => {
    const { id, letGo } = await begun(20);
    await world.reload((config) => `[batches]\nbytes_per_key = 100\n${config}`);
    world.gateway.batches.wake();
    letGo();
    const waiting = await client.until(id, ({ sluice }) => sluice.reason === "storage");
    expect(waiting.sluice.state).toBe("waiting");
    const { completed } = waiting.request_counts;
    expect(await world.chargesOf(caller)).toHaveLength(completed);
    await world.reload((config) => config);
    world.gateway.batches.wake();
    const ended = await client.untilEnded(id);
    expect(ended.request_counts.completed).toBe(20);
    expect(await client.content(ended.output_file_id)).toHaveLength(20);
    expect(await world.chargesOf(caller)).toHaveLength(20);
  });

  test.each(["credit", "token_budget"])(
    "message batches of a %s key run again after faults, and are charged once",
    async (mode) => {
      caller = mode === "credit" ? caller : await world.tokenCaller(100_000);
      client = BatchClient.of(world, caller);
      let faults = 4;
      world.provider.script((request) => {
        faults -= 1;
        return faults >= 0 ? openAiError(faults % 2 === 0 ? 500 : 429, "No.") : usualResponse(request);
      });
      const params = { model: "local-test", max_tokens: 20, messages: [{ role: "user", content: "Hi" }] };
      const requests = [1, 2, 3].map((n) => ({ custom_id: `line-${n}`, params }));
      const { body } = await client.call("POST", "/messages/batches", { requests });
      const found = () => world.running.store.batches.get(body.id);
      await waitFor(async () => (await found())?.endedAtMs != null, "the batch to end");
      expect(await found()).toMatchObject({ completed: 3, failed: 0 });
      const charges = await world.chargesOf(caller);
      expect(charges).toHaveLength(3);
      expect((await found())?.charged).toBe(charges.reduce((sum, { amount }) => sum - amount, 0));
    },
    60_000,
  );
});
