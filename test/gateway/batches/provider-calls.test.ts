import { beforeEach, expect, test } from "bun:test";
import { json, text } from "../../support/answers.ts";
import { costOf, MessageBatches, nativeModel } from "../../support/message-batches.ts";
import { waitFor } from "../../support/wait.ts";
import { onBothStores } from "../on-both-stores.ts";
import type { Caller, World } from "../world.ts";
import { BatchClient, chatLines } from "./batch-world.ts";

const otherModel = nativeModel.replaceAll("claude-batch", "claude-other").replaceAll("-upstream", "-another");
const settings = '\n[batches]\nprovider_poll = "100ms"\n';

/** How providers are asked about the lines that they have. */
onBothStores(nativeModel + otherModel + settings, (place) => {
  let world: World;
  let caller: Caller;
  let client: BatchClient;
  let batches: MessageBatches;
  beforeEach(async () => {
    world = place();
    batches = new MessageBatches();
    world.provider.script(batches.script);
    caller = await world.creditCaller();
    client = BatchClient.of(world, caller);
  });

  test("one that stalls delays no other", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    batches.fault = (request, at) => {
      const slow = batches.batches.find(({ lines: [line] }) => line?.params["model"] === "claude-another");
      if (at !== "get" || slow === undefined || !request.path.includes(slow.id)) return null;
      return { ...json({ processing_status: "in_progress" }), before: [{ until: promise }] };
    };
    const slow = await client.create(chatLines(2, { model: "claude-other" }));
    await waitFor(() => world.provider.requests.some(({ method }) => method === "GET"), "it to stall");
    const startedMs = performance.now();
    const { id } = await client.create(chatLines(3, { model: "claude-batch" }));
    expect((await client.untilEnded(id)).request_counts.completed).toBe(3);
    expect(performance.now() - startedMs).toBeLessThan(25_000);
    expect((await client.get(slow.id)).request_counts.completed).toBe(0);
    batches.fault = () => null;
    resolve();
    expect((await client.untilEnded(slow.id)).request_counts.completed).toBe(2);
    const charges = (await world.chargesOf(caller)).map(({ amount }) => -amount);
    expect(charges.toSorted()).toEqual([0, 1, 2, 0, 1].map(costOf).toSorted());
  }, 60_000);

  test("a response that is too long counts as none", async () => {
    batches.takesMs = 500;
    const asked: string[] = [];
    batches.fault = (_, at) => {
      asked.push(at);
      const long = `${" ".repeat(2_000_000)}{"processing_status": "ended", "request_counts": {"succeeded": 2}}`;
      return asked.length === 2 ? text(long, "application/json") : null;
    };
    const ended = await client.untilEnded((await client.create(chatLines(2, { model: "claude-batch" }))).id);
    expect(ended.request_counts.completed).toBe(2);
    expect(asked.slice(0, 3)).toEqual(["create", "get", "get"]);
  });
});
