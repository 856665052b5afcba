import { expect, test } from "bun:test";
import { usualResponse } from "../../support/fixtures.ts";
import { waitFor } from "../../support/wait.ts";
import { onBothStores } from "../on-both-stores.ts";
import { BatchClient, chatLines } from "./batch-world.ts";

const settings = "\n[batches]\nconcurrency = 8\nconcurrency_per_key = 4\n";

/** Who gets the slots for lines while providers are slow. */
onBothStores(settings, (world) => {
  /** Responses of all but one model wait until they are let go. */
  const slow = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    world().provider.script((request) => ({
      ...usualResponse(request),
      before: request.body["model"] === "local-upstream" ? [] : [{ until: promise }],
    }));
    return resolve;
  };
  const newClient = async () => BatchClient.of(world(), await world().creditCaller());
  const askedOf = (model: string) =>
    world().provider.requests.filter(({ body }) => body["model"] === `${model}-upstream`).length;
  const asked = (model: string, count: number) =>
    waitFor(() => askedOf(model) === count, `${count} lines to call ${model}`);
  const completed = async (client: BatchClient, id: string) => {
    expect((await client.untilEnded(id)).request_counts).toEqual({ total: 5, completed: 5, failed: 0 });
  };

  test("a key gets half of the slots that others leave, so two with slow lines do not stop a third", async () => {
    const letGo = slow();
    const [one, two, three] = [await newClient(), await newClient(), await newClient()];
    const first = await one.create(chatLines(5));
    await asked("gpt", 4);
    const second = await two.create(chatLines(5, { model: "claude-test" }));
    await asked("claude", 2);
    const third = await three.create(chatLines(5, { model: "local-test" }));
    await completed(three, third.id);
    expect([askedOf("gpt"), askedOf("claude")]).toEqual([4, 2]);
    letGo();
    await completed(one, first.id);
    await completed(two, second.id);
  });

  test("lines at one deployment get half of the slots, so it does not stop lines at others", async () => {
    const letGo = slow();
    const slowClients = [await newClient(), await newClient(), await newClient()];
    const batches = [];
    for (const client of slowClients) batches.push(await client.create(chatLines(5)));
    await asked("gpt", 4);
    const other = await newClient();
    const batch = await other.create(chatLines(5, { model: "local-test" }));
    await completed(other, batch.id);
    expect(askedOf("gpt")).toBe(4);
    letGo();
    for (const [place, client] of slowClients.entries()) await completed(client, batches[place]?.id ?? "");
  });

  test("a key alone has all slots that a key can have", async () => {
    const letGo = slow();
    const client = await newClient();
    const { id } = await client.create(chatLines(5));
    await asked("gpt", 4);
    letGo();
    await completed(client, id);
  });
});
