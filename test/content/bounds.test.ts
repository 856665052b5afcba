import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ContentSettings } from "../../src/config/settings.ts";
import type { RecordingEnd } from "../../src/content/document.ts";
import { ContentRecorder } from "../../src/content/recorder.ts";
import type { FromContentThread, ToContentThread } from "../../src/content/thread-messages.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { canMountSmallDisk, mountSmallDisk } from "../support/small-disk.ts";
import { waitFor } from "../support/wait.ts";

const settings: ContentSettings = {
  record: "all",
  sample: 1,
  days: 1,
  maxSizeBytes: 1e9,
  maxRequestBytes: 1e6,
  maxResponseBytes: 1e6,
  key: null,
  recordUpstream: false,
  membersSeeOwn: false,
};

const endOf = (id: string): RecordingEnd => ({
  id,
  atMs: Date.now(),
  usage: null,
  facts: {
    model: "m",
    key: "slu_",
    labels: { session: null, user: null, tags: {} },
    route: "/v1/chat/completions",
    status: 200,
    outcome: "completed",
    dropped: [],
    row: { keyId: "key_a", owner: null, isKept: true, isTraced: false },
  },
});

function record(recorder: ContentRecorder, id: string, body: string): void {
  const recording = recorder.begin({ wanted: "all", traced: null, request: body, settings });
  recording?.open({ kind: "json", isValid: false }, false);
  recording?.response(body);
  recording?.end(endOf(id));
}

async function readFrom(recorder: ContentRecorder, id: string): Promise<unknown> {
  const document = await recorder.read(id);
  return document === null ? null : JSON.parse(Buffer.from(document.json).toString());
}

const quiet = { onProgress: () => {}, onFailure: () => {} };

/** A thread that opens, and then does nothing until it is let go. */
class StuckThread extends EventTarget {
  onmessage: ((event: MessageEvent<FromContentThread>) => void) | null = null;
  onerror = null;
  readonly waiting: FromContentThread[] = [];

  postMessage(message: ToContentThread): void {
    if (message.type === "open") queueMicrotask(() => this.say({ type: "opened" }));
    if (message.type === "close") this.say({ type: "closed" });
    if (message.type === "log")
      this.waiting.push({ type: "read", held: 0, dropped: 0, traced: [], block: new ArrayBuffer(0) });
  }

  say(message: FromContentThread): void {
    this.onmessage?.(new MessageEvent("message", { data: message }));
  }

  terminate(): void {}
}

test("what does not fit into 64 MB is dropped and counted, until the thread has caught up", async () => {
  const thread = new StuckThread();
  const { dir, ...folder } = temporaryFolder();
  const recorder = await ContentRecorder.open({
    location: { dir },
    settings,
    start: () => thread as unknown as Worker,
    ...quiet,
  });
  const megabyte = "x".repeat(1_000_000);
  for (let no = 0; no < 50; no += 1) record(recorder, `req_${no}`, megabyte);
  const { dropped } = recorder;
  expect(dropped).toBeGreaterThanOrEqual(18);
  expect(dropped).toBeLessThanOrEqual(20);
  expect(recorder.recentlyDropped).toBe(dropped);
  for (const message of thread.waiting.splice(0)) thread.say(message);
  record(recorder, "req_later", megabyte);
  expect(recorder.dropped).toBe(dropped);
  await recorder.close();
  folder[Symbol.dispose]();
});

test("what was recorded until now is in what is read next", async () => {
  using folder = temporaryFolder();
  const recorder = await ContentRecorder.open({ location: { dir: folder.dir }, settings, ...quiet });
  record(recorder, "req_a", '{"said":"something"}');
  expect(await readFrom(recorder, "req_a")).toMatchObject({ id: "req_a", request: { said: "something" } });
  recorder.begin({ wanted: "all", traced: null, request: "{}", settings })?.drop();
  record(recorder, "req_b", "no JSON");
  await recorder.close();
  const again = await ContentRecorder.open({ location: { dir: folder.dir }, settings, ...quiet });
  expect((await again.list({ limit: 9 })).map(({ id }) => id).toSorted()).toEqual(["req_a", "req_b"]);
  expect(await readFrom(again, "req_b")).toMatchObject({ request: "no JSON", response: "no JSON" });
  await again.close();
});

test("what is too much is deleted while nothing is written, too", async () => {
  using folder = temporaryFolder();
  const recorder = await ContentRecorder.open({ location: { dir: folder.dir }, settings, ...quiet });
  const noise = () => JSON.stringify({ noise: crypto.getRandomValues(new Uint8Array(60_000)).toBase64() });
  for (let no = 0; no < 20; no += 1) record(recorder, `req_${no}`, noise());
  expect((await recorder.sizes()).rows).toBe(20);
  recorder.configure({ ...settings, maxSizeBytes: 500_000 });
  await waitFor(async () => (await recorder.sizes()).rows < 10, "the oldest to be deleted", 20_000);
  await recorder.close();
}, 30_000);

describe.if(canMountSmallDisk)("a full disk", () => {
  test("drops content, says so once, and is used again when there is room", async () => {
    using disk = mountSmallDisk(8);
    const failures: string[] = [];
    const recorder = await ContentRecorder.open({
      location: { dir: disk.folder },
      settings,
      onProgress: () => {},
      onFailure: (message) => failures.push(message),
    });
    record(recorder, "req_before", '{"kept":true}');
    expect(await readFrom(recorder, "req_before")).not.toBeNull();
    const filler = disk.fill();
    const noise = () => JSON.stringify({ noise: crypto.getRandomValues(new Uint8Array(200_000)).toBase64() });
    for (let no = 0; no < 20; no += 1) record(recorder, `req_${no}`, noise());
    await waitFor(
      async () => (await recorder.sizes()).rows >= 0 && recorder.dropped > 0,
      "content to be dropped",
    );
    expect(failures).toHaveLength(1);
    rmSync(filler);
    record(recorder, "req_after", '{"kept":true}');
    expect(await readFrom(recorder, "req_after")).not.toBeNull();
    expect(await readFrom(recorder, "req_before")).not.toBeNull();
    await recorder.close();
  });
});

test("a file that is damaged is named, with what to do", async () => {
  using folder = temporaryFolder();
  await Bun.write(
    join(folder.dir, "content.db"),
    "no database at all, but long enough to be taken for one".repeat(99),
  );
  const opening = ContentRecorder.open({ location: { dir: folder.dir }, settings, ...quiet });
  await expect(opening).rejects.toThrow(
    "It has only recorded content, not the ledger: delete it and restart.",
  );
  await opening.catch(() => {});
});
