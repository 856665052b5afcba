import { afterEach, beforeEach, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { waitFor } from "../../support/wait.ts";
import { onBothStores } from "../on-both-stores.ts";
import type { Caller, World } from "../world.ts";
import { BatchClient, chatLines, contentOf } from "./batch-world.ts";

const endpoint = "/v1/chat/completions";
const boundary = "B";
const formBeginning = [
  `--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch`,
  `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x.jsonl"\r\n\r\n`,
].join("\r\n");

/** What a key can store, whatever it does at once, and when it can store nothing. */
onBothStores("", (place) => {
  let world: World;
  let caller: Caller;
  let client: BatchClient;
  const sockets: Socket[] = [];
  beforeEach(async () => {
    world = place();
    await world.reload((config) => config);
    caller = await world.creditCaller();
    client = BatchClient.of(world, caller);
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await world.settled();
  });

  const limited = (settings: string) => world.reload((config) => `[batches]\n${settings}\n${config}`);
  const bytesOf = () => world.running.store.uploads.bytesOf(caller.key.id);
  const creating = (id: string) => ({ input_file_id: id, endpoint, completion_window: "24h" });

  /** Begins a request of 4 MB, and sends no more than this. Returns what came back. */
  const begin = (path: string, type: string, sent = "") => {
    const { hostname, port } = new URL(world.running.url);
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    const received = { text: "" };
    socket.on("data", (data) => {
      received.text += data.toString("latin1");
    });
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: Bearer ${caller.secret}`,
      `Content-Type: ${type}`,
      `Content-Length: ${4 * 1024 * 1024}`,
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n${sent}`);
    return received;
  };
  const form = `multipart/form-data; boundary=${boundary}`;

  test("what is being uploaded counts as it is written", async () => {
    await limited("bytes_per_key = 1000000");
    const { uploads } = world.running.store;
    const { addPart, delete: remove } = uploads;
    const written = new Map<string, number>();
    let most = 0;
    Object.assign(uploads, {
      addPart: async (...added: Parameters<typeof addPart>) => {
        const isAdded = await addPart(...added);
        const [{ fileId, bytes }] = added;
        if (isAdded) written.set(fileId, (written.get(fileId) ?? 0) + bytes);
        most = Math.max(
          most,
          written.values().reduce((sum, each) => sum + each, 0),
        );
        return isAdded;
      },
      delete: (keyId: string, id: string) => {
        // Its bytes are free from the first statement of the deletion on.
        written.delete(id);
        return remove(keyId, id);
      },
    });
    const content = "x".repeat(600_000);
    const results = await Promise.all(Array.from({ length: 8 }, () => client.upload(content)));
    Object.assign(uploads, { addPart, delete: remove });
    expect(most).toBeLessThanOrEqual(1_000_000);
    const stored = results.filter(({ status }) => status === 200);
    expect(stored.length).toBeLessThanOrEqual(1);
    expect(results.filter(({ status }) => status === 400)).toHaveLength(8 - stored.length);
    expect(await bytesOf()).toBe(600_000 * stored.length);
    // The space of those that failed is free again.
    if (stored.length === 0) expect((await client.upload(content)).status).toBe(200);
  });

  test("a key without credit gets 402 before its body is read, and nothing is stored", async () => {
    caller = await world.creditCaller(0);
    const uploads = begin("/v1/files", form);
    const batches = begin("/v1/messages/batches", "application/json");
    await waitFor(() => uploads.text !== "" && batches.text !== "", "both to be rejected");
    for (const { text } of [uploads, batches]) {
      expect(text).toStartWith("HTTP/1.1 402");
      expect(text).toContain("insufficient_credit");
    }
    expect(await bytesOf()).toBe(0);
  });

  test("a key has sixteen uploads in progress, the next gets 429, and other keys upload", async () => {
    const { uploads } = world.running.store;
    const { begin: store } = uploads;
    let begun = 0;
    Object.assign(uploads, {
      begin: async (...file: Parameters<typeof store>) => {
        const problem = await store(...file);
        begun += 1;
        return problem;
      },
    });
    for (let started = 0; started < 16; started += 1) begin("/v1/files", form, formBeginning);
    await waitFor(() => begun === 16, "sixteen uploads to begin");
    Object.assign(uploads, { begin: store });
    expect((await client.upload("{}")).status).toBe(429);
    const batch = { requests: [{ custom_id: "a", params: {} }] };
    expect((await client.call("POST", "/messages/batches", batch)).status).toBe(429);
    expect((await BatchClient.of(world, await world.creditCaller()).upload("{}")).status).toBe(200);
    for (const socket of sockets.splice(0)) socket.destroy();
    await waitFor(async () => (await client.upload("{}")).status === 200, "uploads to be possible again");
  });

  test("nothing is stored while less than a gigabyte is free on the disk", async () => {
    const { uploads } = world.running.store;
    const { freeBytes } = uploads;
    const { body: file } = await client.upload(contentOf(chatLines(1), endpoint));
    Object.assign(uploads, { freeBytes: () => 1024 ** 3 - 1 });
    expect((await client.upload("{}")).status).toBe(503);
    expect((await client.call("POST", "/batches", creating(file.id))).status).toBe(503);
    Object.assign(uploads, { freeBytes: () => 1024 ** 3 });
    expect((await client.upload("{}")).status).toBe(200);
    Object.assign(uploads, { freeBytes });
  });

  test("a batch that fails keeps no lines, and its errors count", async () => {
    const content = `${contentOf(chatLines(450), endpoint)}\n{}`;
    const { body: file } = await client.upload(content);
    const { body: batch } = await client.call("POST", "/batches", creating(file.id));
    expect(batch).toMatchObject({ status: "failed", errors: { data: [{ line: 451 }] } });
    const { batches } = world.running.store;
    expect(await batches.results(batch.id, "all", -1, 10)).toEqual([]);
    const errors = Buffer.byteLength((await batches.get(batch.id))?.errors ?? "");
    expect(errors).toBeGreaterThan(0);
    expect(await bytesOf()).toBe(Buffer.byteLength(content) + 1024 + errors);
  });

  test("the ids of lines count, and are removed with the results of their batch", async () => {
    const { batches } = world.running.store;
    const id = "i".repeat(500);
    const lines = chatLines(100).map((line, place) => ({ ...line, custom_id: `${id}${place}` }));
    const content = contentOf(lines, endpoint);
    const poor = await world.creditCaller(0.00001);
    caller = poor;
    client = BatchClient.of(world, poor);
    const { body: file } = await client.upload(content);
    const { body: batch } = await client.call("POST", "/batches", creating(file.id));
    await client.call("POST", `/batches/${batch.id}/cancel`);
    const ended = await client.untilEnded(batch.id);
    expect(ended.status).toBe("cancelled");
    expect((await client.content(ended.error_file_id)).map(({ error }) => error?.code)).toEqual(
      Array(100).fill("batch_cancelled"),
    );
    expect(await bytesOf()).toBeGreaterThan(Buffer.byteLength(content) + 100 * id.length);
    expect((await client.call("DELETE", `/files/${ended.error_file_id}`)).status).toBe(200);
    expect(await batches.results(batch.id, "all", -1, 10)).toEqual([]);
    expect(await bytesOf()).toBe(Buffer.byteLength(content) + 1024);

    // A create whose ids have no room leaves nothing.
    await limited(`bytes_per_key = ${Buffer.byteLength(content) + 20_000}`);
    expect((await client.call("POST", "/batches", creating(file.id))).status).toBe(400);
    expect((await client.call<{ data: unknown[] }>("GET", "/batches")).body.data).toHaveLength(1);
    expect(await bytesOf()).toBe(Buffer.byteLength(content) + 1024);
  });

  test("a key has so many files and batches, and each counts a kilobyte", async () => {
    await limited("files_per_key = 3");
    const files = [await client.upload("{}"), await client.upload("{}"), await client.upload("{}")];
    expect(files.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await client.upload("{}")).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_request" } },
    });
    const [{ body: file } = await client.upload("{}")] = files;
    for (const status of [200, 200, 200, 400]) {
      expect((await client.call("POST", "/batches", creating(file.id))).status).toBe(status);
    }
    await limited("bytes_per_key = 3000");
    caller = await world.creditCaller();
    client = BatchClient.of(world, caller);
    expect([(await client.upload("{}")).status, (await client.upload("{}")).status]).toEqual([200, 200]);
    expect(await bytesOf()).toBe(2048);
    expect((await client.upload("{}")).status).toBe(400);
  });

  test("a long list of files is read and written some files at a time", async () => {
    const { uploads } = world.running.store;
    const quota = { bytesPerKey: Number.MAX_SAFE_INTEGER, filesPerKey: 1000 };
    const ids = Array.from({ length: 450 }, (_, no) => `file-${caller.key.id}-${no}`);
    for (const id of ids) {
      const times = { createdAtMs: Date.now(), expiresAtMs: Date.now() + 600_000 };
      const file = {
        id,
        keyId: caller.key.id,
        kind: "batch",
        name: "x",
        bytes: 1,
        batchId: null,
        ...times,
      } as const;
      expect(await uploads.begin(file, quota)).toBeNull();
    }
    const { list } = uploads;
    let most = 0;
    Object.assign(uploads, {
      list: async (...asked: Parameters<typeof list>) => {
        const found = await list(...asked);
        most = Math.max(most, found.length);
        return found;
      },
    });
    type Listed = { data: { id: string }[]; first_id: string; last_id: string; has_more: boolean };
    const listed = async (query: string) => (await client.call<Listed>("GET", `/files${query}`)).body;
    const all = await listed("");
    expect(all).toMatchObject({ object: "list", first_id: ids.at(-1), last_id: ids[0], has_more: false });
    expect(all.data.map(({ id }) => id)).toEqual(ids.toReversed());
    const some = await listed(`?limit=250&order=asc&after=${ids[9]}`);
    expect(some).toMatchObject({ first_id: ids[10], last_id: ids[259], has_more: true });
    expect(some.data.map(({ id }) => id)).toEqual(ids.slice(10, 260));
    expect(await listed(`?after=${ids[0]}`)).toMatchObject({
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
    expect(most).toBeLessThanOrEqual(101);
    Object.assign(uploads, { list });
  });
});
