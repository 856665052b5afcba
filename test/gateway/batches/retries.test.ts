import { expect, test } from "bun:test";
import { onBothStores } from "../on-both-stores.ts";
import { BatchClient, chatLines, contentOf } from "./batch-world.ts";

const content = contentOf(chatLines(2), "/v1/chat/completions");
const named = (key: string) => ({ "idempotency-key": key });
const messageBatch = (text: string) => ({
  requests: [
    {
      custom_id: "one",
      params: { model: "claude-test", max_tokens: 20, messages: [{ role: "user", content: text }] },
    },
  ],
});

onBothStores("", (world) => {
  test("a retry of an upload gets the same file, and another file under its key is a conflict", async () => {
    const caller = await world().creditCaller();
    const client = BatchClient.of(world(), caller);
    const first = await client.upload(content, {}, named("upload"));
    const again = await client.upload(content, {}, named("upload"));
    expect(again).toEqual(first);
    expect(await world().running.store.uploads.bytesOf(caller.key.id)).toBe(1024);
    const others: readonly (readonly [string, Record<string, string>])[] = [
      [`${content}\n`, {}],
      [content, { "expires_after[anchor]": "created_at", "expires_after[seconds]": "3600" }],
    ];
    for (const [text, fields] of others) {
      const { status, body } = await client.upload(text, fields, named("upload"));
      expect({ status, code: body.error.code }).toEqual({ status: 409, code: "idempotency_conflict" });
    }
    const files = await client.call<{ data: unknown[] }>("GET", "/files");
    expect(files.body.data).toEqual([first.body]);
    expect((await client.upload(content, {}, named("another"))).body.id).not.toBe(first.body.id);
  });

  test("a retry of a batch gets the same batch as it is now, and nothing runs twice", async () => {
    const caller = await world().creditCaller();
    const client = BatchClient.of(world(), caller);
    const { body: file } = await client.upload(content);
    const body = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
    const created = await Promise.all(
      Array.from({ length: 4 }, () => client.call("POST", "/batches", body, named("batch"))),
    );
    const ids = new Set(created.filter(({ status }) => status === 200).map((each) => each.body.id));
    expect(ids.size).toBe(1);
    const refused = created.filter(({ status }) => status !== 200).map((each) => each.body.error.code);
    expect(refused.every((code) => code === "idempotency_in_flight")).toBe(true);
    const [id = ""] = ids;
    const ended = await client.untilEnded(id);
    const retried = await client.fetch("POST", "/batches", body, named("batch"));
    expect(retried.headers.get("idempotent-replayed")).toBe("true");
    expect(await retried.json()).toEqual(ended);
    const changed = { ...body, metadata: { a: "b" } };
    expect((await client.call("POST", "/batches", changed, named("batch"))).status).toBe(409);
    expect((await client.call<{ data: unknown[] }>("GET", "/batches")).body.data).toHaveLength(1);
    expect(await world().chargesOf(caller)).toHaveLength(2);
  });

  test("a retry of a batch that was rejected runs, and one of a bad file gets its problems again", async () => {
    const client = BatchClient.of(world(), await world().creditCaller());
    const body = { input_file_id: "file-none", endpoint: "/v1/chat/completions", completion_window: "24h" };
    expect((await client.call("POST", "/batches", body, named("bad"))).status).toBe(400);
    const { body: file } = await client.upload("{");
    const good = { ...body, input_file_id: file.id };
    const failed = await client.call("POST", "/batches", good, named("bad"));
    expect(failed.body).toMatchObject({
      status: "failed",
      errors: { data: [{ code: "invalid_json_line" }] },
    });
    expect(await client.call("POST", "/batches", good, named("bad"))).toEqual(failed);
  });

  test("a retry of a message batch gets the same one", async () => {
    const caller = await world().creditCaller();
    const client = BatchClient.of(world(), caller);
    const create = (text: string) =>
      client.call("POST", "/messages/batches", messageBatch(text), named("batch"));
    const first = await create("Hello");
    expect(first.status).toBe(200);
    expect((await create("Hello")).body.id).toBe(first.body.id);
    expect(await create("Another")).toMatchObject({
      status: 409,
      body: { error: { code: "idempotency_conflict" } },
    });
    expect((await client.call<{ data: unknown[] }>("GET", "/messages/batches")).body.data).toHaveLength(1);
  });

  test("what was created and deleted is not found by a retry", async () => {
    const client = BatchClient.of(world(), await world().creditCaller());
    const { body: file } = await client.upload(content, {}, named("gone"));
    await client.call("DELETE", `/files/${file.id}`);
    expect((await client.upload(content, {}, named("gone"))).status).toBe(404);
  });
});
