import type { Json } from "../base/json.ts";
import { StoreRefusal } from "../store/refusal.ts";
import { ContentArchive } from "./archive.ts";
import { Assembler } from "./assembler.ts";
import { cutJson } from "./cut-json.ts";
import { Redactor } from "./redactor.ts";
import { replaceData } from "./replace-data.ts";
import type {
  ArchiveCalls,
  CleanedText,
  FromContentThread,
  KeptContent,
  Retention,
  ToContentThread,
} from "./thread-messages.ts";
import type { TracedContent } from "./traced-content.ts";

declare const self: Worker;

/** Retention is looked after so often while content is written. */
const pruneEveryMs = 10_000;

/** What content costs is done here: putting documents together, hashing, compressing, encrypting, and the database. */
class ContentThread {
  /** Null if nothing is kept. */
  readonly #archive: ContentArchive | null;
  readonly #assembler: Assembler;
  #retention: Retention;
  #prunedAtMs = 0;

  constructor(archive: ContentArchive | null, key: Uint8Array | null, retention: Retention) {
    this.#archive = archive;
    this.#assembler = new Assembler(key);
    this.#retention = retention;
  }

  async take(message: ToContentThread): Promise<void> {
    if (message.type === "log") await this.#write(message);
    else if (message.type === "call") await this.#answer(message.no, message.name, message.argument);
    else if (message.type === "retention") this.#retention = message.retention;
    else if (message.type === "close") {
      await this.#archive?.close();
      say({ type: "closed" });
    }
  }

  async prune(): Promise<void> {
    this.#prunedAtMs = performance.now();
    const { keptMs, maxBytes } = this.#retention;
    await this.#archive?.store.prune({ beforeMs: Date.now() - keptMs, maxBytes });
  }

  async #write({ log, secrets }: Extract<ToContentThread, { type: "log" }>): Promise<void> {
    if (secrets !== null) this.#assembler.redactor = new Redactor(secrets);
    let dropped = 0;
    let failure: string | null = null;
    let traced: readonly TracedContent[] = [];
    try {
      const made = this.#assembler.take(log);
      traced = made.traced;
      dropped = made.failed + made.rows.length;
      if (made.rows.length > 0) await this.#archive?.store.write(made.rows);
      dropped = made.failed;
      if (performance.now() - this.#prunedAtMs >= pruneEveryMs) await this.prune();
    } catch (error) {
      failure = String((error as Error)?.message ?? error);
    }
    say({ type: "written", held: this.#assembler.heldBytes, dropped, failure, traced });
  }

  async #answer(no: number, name: keyof ArchiveCalls, argument: unknown): Promise<void> {
    const archive = this.#archive;
    try {
      if (archive === null) throw new Error("Content is traced, and not kept.");
      // The caller's types are those of `ArchiveCalls`, of which the archive has all but two.
      const result = await (name === "sizes"
        ? archive.store.sizes()
        : name === "clean"
          ? cleaned(argument as CleanedText & { readonly secrets: readonly string[] })
          : (archive[name] as (argument: unknown) => Promise<unknown>).call(archive, argument));
      say({ type: "reply", no, result });
    } catch (error) {
      say({ type: "failed", no, message: String((error as Error)?.message ?? error) });
    }
  }
}

function cleaned({ json, maxBytes, secrets }: CleanedText & { readonly secrets: readonly string[] }): string {
  return cutJson(replaceData(JSON.parse(json) as Json, new Redactor(secrets).clean), maxBytes).json;
}

function say(message: FromContentThread): void {
  self.postMessage(message);
}

async function open(kept: KeptContent | null): Promise<ContentThread> {
  if (kept === null) return new ContentThread(null, null, { keptMs: 0, maxBytes: 0 });
  const { location, key, retention } = kept;
  const onEncrypting = (done: number, all: number) => say({ type: "progress", done, all });
  const archive = await ContentArchive.open({ location, key, onEncrypting });
  const thread = new ContentThread(archive, key, retention);
  await thread.prune();
  return thread;
}

/** Messages are worked off one after the other. */
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
          reason: error instanceof StoreRefusal ? error.reason : null,
          message: String((error as Error)?.message ?? error),
        }),
    );
  } else working = working.then(async () => (await thread)?.take(data)).catch(() => {});
};
