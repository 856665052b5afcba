import { Repeating } from "../base/loop/repeating.ts";
import { collectWhenIdle } from "../base/system/idle-collection.ts";
import { StoreError } from "../store/store-error.ts";
import { ContentArchive } from "./archive.ts";
import { Assembler } from "./assembler.ts";
import { cleanJson } from "./clean-json.ts";
import { Redactor } from "./redactor.ts";
import { RowWriter } from "./row-writer.ts";
import type {
  ArchiveCalls,
  CleanedText,
  ContentStorage,
  FromContentThread,
  Retention,
  ToContentThread,
} from "./thread-messages.ts";

declare const self: Worker;

/** Interval for deleting content that is too old or exceeds the maximum size. */
const pruneEveryMs = 10_000;
/** How long rows wait for more rows. Together with the time in a log this is less than a second. */
const writeEveryMs = 300;

/** Does the expensive work: assembling documents, hashing, compressing, encrypting, and writing. */
class ContentThread {
  /** Both are null if content goes to traces only. */
  readonly #archive: ContentArchive | null;
  readonly #writer: RowWriter | null;
  readonly #assembler: Assembler;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #retention: Retention;
  readonly #pruning = new Repeating();
  /** Number of messages received. */
  #taken = 0;

  constructor(archive: ContentArchive | null, key: Uint8Array | null, retention: Retention) {
    this.#archive = archive;
    this.#writer = archive && new RowWriter(archive.store);
    this.#assembler = new Assembler(key);
    this.#retention = retention;
    collectWhenIdle(() => ({ isIdle: true, admitted: this.#taken }));
  }

  async take(message: ToContentThread): Promise<void> {
    this.#taken += 1;
    if (message.type === "log") return this.#read(message);
    if (message.type === "retention") this.#retention = message.retention;
    else if (message.type === "call") {
      await this.write();
      await this.#answer(message.no, message.name, message.argument);
    } else if (message.type === "close") {
      await this.write();
      await this.#pruning.stop();
      await this.#archive?.close();
      say({ type: "closed" });
    }
  }

  /** Prunes now and from now on, also while nothing is written. Writes do not wait for PostgreSQL to rewrite a partition. */
  async startPruning(): Promise<void> {
    await this.#prune();
    this.#pruning.start(pruneEveryMs, () =>
      this.#prune().catch((error) => say({ type: "written", dropped: 0, failure: messageOf(error) })),
    );
  }

  async #prune(): Promise<void> {
    const { keptMs, maxBytes } = this.#retention;
    await this.#archive?.store.prune({ beforeMs: Date.now() - keptMs, maxBytes });
  }

  async #read({ log, secrets }: Extract<ToContentThread, { type: "log" }>): Promise<void> {
    if (secrets !== null) this.#assembler.redactor = new Redactor(secrets);
    const { rows, traced, failed: dropped } = this.#assembler.take(log);
    this.#writer?.add(rows);
    const held = this.#assembler.heldBytes + (this.#writer?.waitingBytes ?? 0);
    // Nothing refers to the log any more.
    const block = log.bytes.buffer as ArrayBuffer;
    self.postMessage({ type: "read", held, dropped, traced, block } satisfies FromContentThread, [block]);
    if (this.#writer?.isFull) await this.write();
    else if (this.#writer?.isEmpty === false)
      this.#timer ??= setTimeout(() => inTurn(() => this.write()), writeEveryMs);
  }

  /** Writes waiting rows. */
  async write(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#writer === null || this.#writer.isEmpty) return;
    const written = await this.#writer.write();
    say({ type: "written", ...written });
  }

  async #answer(no: number, name: keyof ArchiveCalls, argument: unknown): Promise<void> {
    const archive = this.#archive;
    try {
      if (archive === null) throw new Error("Content is only traced, not stored.");
      // `ArchiveCalls` types the callers; the archive has all of its methods but two.
      const result = await (name === "sizes"
        ? archive.store.sizes()
        : name === "clean"
          ? cleanedText(argument as CleanedText & { readonly secrets: readonly string[] })
          : (archive[name] as (argument: unknown) => Promise<unknown>).call(archive, argument));
      say({ type: "reply", no, result });
    } catch (error) {
      say({ type: "failed", no, message: messageOf(error) });
    }
  }
}

function cleanedText({ secrets, ...text }: CleanedText & { readonly secrets: readonly string[] }): string {
  return cleanJson(text, secrets);
}

function messageOf(error: unknown): string {
  return String((error as Error)?.message ?? error);
}

function say(message: FromContentThread): void {
  self.postMessage(message);
}

async function open(kept: ContentStorage | null): Promise<ContentThread> {
  if (kept === null) return new ContentThread(null, null, { keptMs: 0, maxBytes: 0 });
  const { location, key, retention } = kept;
  const onEncrypting = (done: number, all: number) => say({ type: "progress", done, all });
  const archive = await ContentArchive.open({ location, key, onEncrypting });
  const thread = new ContentThread(archive, key, retention);
  await thread.startPruning();
  return thread;
}

/** Messages are processed in order, one at a time. */
let thread: Promise<ContentThread> | null = null;
let working: Promise<unknown> = Promise.resolve();

self.onmessage = ({ data }: MessageEvent<ToContentThread>) => {
  if (data.type === "open") {
    thread = open(data.kept);
    working = thread.then(
      () => say({ type: "opened" }),
      (error) =>
        say({
          type: "refused",
          reason: error instanceof StoreError ? error.reason : null,
          message: messageOf(error),
        }),
    );
  } else inTurn(async () => (await thread)?.take(data));
};

function inTurn(work: () => Promise<unknown>): void {
  working = working.then(work).catch(() => {});
}
