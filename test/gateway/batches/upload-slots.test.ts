import { expect, test } from "bun:test";
import { waitFor } from "../../support/wait.ts";
import { onBothStores } from "../on-both-stores.ts";
import { BatchClient, chatLines, contentOf } from "./batch-world.ts";

const params = { model: "claude-test", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] };
const batch = { requests: [{ custom_id: "one", params }] };
const lines = contentOf(chatLines(1), "/v1/chat/completions");

onBothStores("", (world) => {
  const uploads = {
    "a file": async (client: BatchClient) => (await client.upload(lines)).status,
    "a message batch": async (client: BatchClient) =>
      (await client.fetch("POST", "/messages/batches", batch)).status,
  };

  test.each(Object.keys(uploads) as (keyof typeof uploads)[])(
    "%s takes a slot of its key for as long as it arrives, and none if all are taken",
    async (what) => {
      const caller = await world().creditCaller();
      const client = BatchClient.of(world(), caller);
      const { formSlots } = world().gateway;
      const { uploads: records } = world().gateway.batches.store;
      const others = formSlots.reserve(caller.key.id);
      while (others.grow(1));
      const taken = formSlots.takenBytes;
      expect(await uploads[what](client)).toBe(503);
      expect(formSlots.takenBytes).toBe(taken);
      others.release();

      const { promise, resolve } = Promise.withResolvers<void>();
      const { begin } = records;
      Object.assign(records, {
        begin: async (...begun: Parameters<typeof begin>) => {
          await promise;
          return begin(...begun);
        },
      });
      const uploading = uploads[what](client);
      await waitFor(() => formSlots.takenBytes === 1, "it to take a slot");
      resolve();
      expect(await uploading).toBe(200);
      Object.assign(records, { begin });
      expect(formSlots.takenBytes).toBe(0);
    },
  );
});
