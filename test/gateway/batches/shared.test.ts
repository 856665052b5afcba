import { expect, test } from "bun:test";
import { msPerHour } from "../../../src/base/clock.ts";
import { onBothStores } from "../on-both-stores.ts";
import { BatchClient, chatLines, contentOf } from "./batch-world.ts";

const sharing = '[batches]\nshare = "account"\n';
const content = contentOf(chatLines(1), "/v1/chat/completions");
type Listed = { readonly data: readonly { readonly id: string }[] };

onBothStores("", (world) => {
  test("with a shared account all of its keys see, use, cancel and delete, and the creator's key is charged", async () => {
    await world().reload((config) => sharing + config);
    const one = await world().creditCaller();
    const other = await world().creditCaller(0, { accountId: one.key.accountId, creditNano: 0 });
    const stranger = BatchClient.of(world(), await world().creditCaller());
    const [client, sibling] = [BatchClient.of(world(), one), BatchClient.of(world(), other)];
    const { body: file } = await client.upload(content);
    const body = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
    const { body: batch } = await sibling.call("POST", "/batches", body);
    const ended = await client.untilEnded(batch.id);
    expect(ended.request_counts.completed).toBe(1);
    expect(await client.results(ended)).toHaveLength(1);
    expect(await world().chargesOf(other)).toHaveLength(1);
    expect(await world().chargesOf(one)).toHaveLength(0);
    for (const each of [client, sibling]) {
      expect((await each.call<Listed>("GET", "/files")).body.data.map(({ id }) => id)).toEqual([
        ended.output_file_id ?? "",
        file.id,
      ]);
      expect((await each.call<Listed>("GET", "/batches")).body.data.map(({ id }) => id)).toEqual([batch.id]);
      const after = await each.call<Listed>("GET", `/batches?after=${batch.id}`);
      expect(after).toMatchObject({ status: 200, body: { data: [] } });
    }
    expect((await stranger.call("GET", `/batches/${batch.id}`)).status).toBe(404);
    expect((await stranger.call<Listed>("GET", "/files")).body.data).toEqual([]);
    expect((await stranger.call("DELETE", `/files/${file.id}`)).status).toBe(404);
    expect((await sibling.call("DELETE", `/files/${file.id}`)).status).toBe(200);
    await world().reload((config) => config);
    expect((await client.call("GET", `/batches/${batch.id}`)).status).toBe(404);
  });

  test("what was created in an account stays readable there alone, when its key moves to another", async () => {
    await world().reload((config) => sharing + config);
    const moved = await world().creditCaller();
    const { accountId } = moved.key;
    const left = BatchClient.of(world(), await world().creditCaller(0, { accountId, creditNano: 0 }));
    const other = await world().creditCaller();
    const [client, joined] = [BatchClient.of(world(), moved), BatchClient.of(world(), other)];
    const create = async () => (await client.untilEnded((await client.create(chatLines(1))).id)).id;
    const idsOf = async (each: BatchClient, path: string) =>
      (await each.call<Listed>("GET", path)).body.data.map(({ id }) => id);
    const before = await create();
    const files = await idsOf(left, "/files");
    await world().running.store.moveKey(moved.key.id, other.key.accountId, Date.now());
    await world().gateway.catchUp();
    for (const each of [client, joined]) {
      expect([await idsOf(each, "/files"), await idsOf(each, "/batches")]).toEqual([[], []]);
      for (const path of [
        `/batches/${before}`,
        ...files.flatMap((id) => [`/files/${id}`, `/files/${id}/content`]),
      ])
        expect((await each.call("GET", path)).status).toBe(404);
      expect((await each.call("GET", `/files?after=${files[0]}`)).status).toBe(400);
      expect((await each.call("GET", `/batches?after=${before}`)).status).toBe(400);
      const body = {
        input_file_id: files.at(-1) ?? "",
        endpoint: "/v1/chat/completions",
        completion_window: "24h",
      };
      expect((await each.call("POST", "/batches", body)).status).toBe(400);
    }
    expect([await idsOf(left, "/files"), await idsOf(left, "/batches")]).toEqual([files, [before]]);
    const after = await create();
    expect(await idsOf(joined, "/batches")).toEqual([after]);
    expect(await idsOf(left, "/batches")).toEqual([before]);
    for (const id of files) expect((await left.call("DELETE", `/files/${id}`)).status).toBe(200);
    // With keys that share nothing, a key has what it created, wherever it moved.
    await world().reload((config) => config);
    expect(await idsOf(client, "/batches")).toEqual([after, before]);
  });

  test("files are not found once they have expired, and results are deleted when their batch says", async () => {
    const caller = await world().creditCaller();
    const client = BatchClient.of(world(), caller);
    const hour = { "expires_after[anchor]": "created_at", "expires_after[seconds]": "3600" };
    const { body: file } = await client.upload(content, hour);
    const body = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
    const output_expires_after = { anchor: "created_at", seconds: 3600 };
    const wrong = { ...output_expires_after, seconds: 3599 };
    const rejected = await client.call("POST", "/batches", { ...body, output_expires_after: wrong });
    expect(rejected.body.error.param).toBe("output_expires_after.seconds");
    const created = await client.call("POST", "/batches", { ...body, output_expires_after });
    const { id, output_file_id: output } = await client.untilEnded(created.body.id);
    const shown = await client.call<{ expires_at: number; created_at: number }>("GET", `/files/${output}`);
    expect(shown.body.expires_at - shown.body.created_at).toBe(3600);
    const { clock } = world().gateway;
    const later = {
      ...clock,
      wallMs: () => clock.wallMs() + 2 * msPerHour,
      monotonicMs: () => clock.monotonicMs(),
    };
    Object.assign(world().gateway, { clock: later });
    for (const path of [`/files/${file.id}`, `/files/${file.id}/content`, `/files/${output}/content`]) {
      expect((await client.call("GET", path)).status).toBe(404);
    }
    expect((await client.call("POST", "/batches", body)).status).toBe(400);
    expect((await client.call<Listed>("GET", "/files")).body.data).toEqual([]);
    Object.assign(world().gateway, { clock });
    await world().gateway.batches.prune(Date.now() + 2 * msPerHour);
    expect(await client.get(id)).toMatchObject({ id, status: "completed", output_file_id: null });
    // The batch itself is still there.
    expect(await world().running.store.uploads.bytesOf(caller.key.id)).toBe(1024);
    expect(await world().running.store.batches.charged(id, 0)).toBeNull();
  });
});
