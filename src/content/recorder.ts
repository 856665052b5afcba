import { msPerDay } from "../base/clock.ts";
import type { ContentLevel } from "../base/requests/content-level.ts";
import { knownSecrets } from "../base/secrets/secrets.ts";
import { startThread, threadSource } from "../base/threads/start-thread.ts";
import type { BodyLimits, ContentSettings } from "../config/settings.ts";
import type { StoreLocation } from "../store/settings.ts";
import type { StoreErrorReason } from "../store/store-error.ts";
import { StoreError } from "../store/store-error.ts";
import { type FrameKind, FrameLog, frameKinds } from "./frame-log.ts";
import { ContentRecording, type FrameSink } from "./recording.ts";
import { RejectionLimit } from "./rejection-limit.ts";
import type { WrittenRows } from "./row-writer.ts";
import { Sampler } from "./sampler.ts";
import type { ArchiveCalls, FromContentThread, Retention, ToContentThread } from "./thread-messages.ts";
import type { TracedContent } from "./traced-content.ts";

const source = threadSource("content/thread.ts");

/** Limit for everything that waits to be written, including open recordings. */
const maxQueuedBytes = 64_000_000;
/** Short enough that a crash loses less than a second. */
const sendEveryMs = 200;
const maxLogsInFlight = 4;
const recentMs = 60_000;
const closeTimeoutMs = 10_000;

export interface RecorderOptions {
  readonly location: StoreLocation;
  /** Null if content goes to traces only and is not stored. */
  readonly settings: ContentSettings | null;
  /** Progress of encrypting plain content. */
  onProgress(done: number, all: number): void;
  /** Called for the first of several failed writes. */
  onFailure(message: string): void;
  readonly start?: () => Worker;
}

/** A request with a body, and who wants what of it. */
export interface WantedContent {
  /** The level that the key or its account requests; null: as configured. */
  readonly wanted: ContentLevel | null;
  /** Null if it is not traced. */
  readonly traced: BodyLimits | null;
  readonly request: Uint8Array | string | null;
  /** Null if nothing is stored. */
  readonly settings: ContentSettings | null;
}

interface SentBytes {
  readonly bytes: number;
  /** Ids of requests that end in it and whose spans wait for their content. */
  readonly traces: readonly string[];
}

type Reply = { resolve(result: unknown): void; reject(error: Error): void };

/**
 * Records content without delaying responses. The event loop only copies bytes into a log; a thread does the rest.
 * Content that does not fit into the queue is dropped and counted.
 */
export class ContentRecorder implements FrameSink, ArchiveCalls {
  readonly #worker: Worker;
  readonly #options: RecorderOptions;
  readonly #sampler = new Sampler();
  readonly rejections = new RejectionLimit();
  readonly #log = new FrameLog();
  readonly #replies = new Map<number, Reply>();
  readonly #opened = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  /** Logs that the thread has not processed yet. */
  readonly #sent: SentBytes[] = [];
  #expected: string[] = [];
  readonly #traces = new Map<string, PromiseWithResolvers<TracedContent | null>>();
  #sentBytes = 0;
  #heldBytes = 0;
  #lastRecording = 0;
  #lastCall = 0;
  #dropped = 0;
  #droppedAtMs = Number.NEGATIVE_INFINITY;
  #secretsRevision = -1;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isFailing = false;

  private constructor(options: RecorderOptions) {
    this.#options = options;
    this.#worker = (options.start ?? (() => startThread(source, { smol: true })))();
    this.#worker.onmessage = ({ data }: MessageEvent<FromContentThread>) => this.#take(data);
    this.#worker.onerror = (event) => this.#lose(event.message);
    const { location, settings } = options;
    const kept = settings && { location, key: settings.key, retention: retentionOf(settings) };
    this.#post({ type: "open", kept });
  }

  /** Rejects with a refusal if the key is wrong. */
  static async open(options: RecorderOptions): Promise<ContentRecorder> {
    const recorder = new ContentRecorder(options);
    try {
      await recorder.#opened.promise;
      return recorder;
    } catch (error) {
      recorder.#worker.terminate();
      throw error;
    }
  }

  /** Requests whose content was dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Number of dropped recordings; null if none was dropped within the last minute. */
  get recentlyDropped(): number | null {
    return performance.now() - this.#droppedAtMs < recentMs ? this.#dropped : null;
  }

  countDropped(count: number): void {
    if (count === 0) return;
    this.#dropped += count;
    this.#droppedAtMs = performance.now();
  }

  /** Null if the request is not sampled, or its content is not wanted. */
  begin({ wanted, traced, request, settings }: WantedContent): ContentRecording | null {
    const isSampled = settings !== null && this.#sampler.takes(settings.sample);
    const kept = isSampled ? (wanted ?? settings.record) : "none";
    const limits = settings ?? traced;
    if (limits === null || (kept === "none" && traced === null)) return null;
    const { maxRequestBytes, maxResponseBytes } = limits;
    this.#lastRecording = (this.#lastRecording + 1) >>> 0;
    return new ContentRecording({
      no: this.#lastRecording,
      levels: { kept, traced: traced === null ? "none" : (wanted ?? "all") },
      request,
      sink: this,
      limits: { maxRequestBytes, maxResponseBytes },
      recordsUpstream: isSampled && settings.recordUpstream,
    });
  }

  add(kind: FrameKind, recording: number, piece: Uint8Array | string): boolean {
    const isFull = this.#log.bytes + this.#sentBytes + this.#heldBytes + piece.length > maxQueuedBytes;
    if (isFull && kind !== frameKinds.drop && kind !== frameKinds.end) {
      this.countDropped(1);
      return false;
    }
    if (this.#log.isFullFor(piece)) this.#send();
    this.#log.add(kind, recording, piece);
    this.#timer ??= setTimeout(this.#sendInTurn, sendEveryMs);
    return true;
  }

  expectTrace(id: string): void {
    this.#expected.push(id);
    this.#traces.set(id, Promise.withResolvers());
  }

  /** The content of a request that has ended; null if its span has none. */
  traced(id: string): Promise<TracedContent | null> | null {
    return this.#traces.get(id)?.promise ?? null;
  }

  /** Applies the settings of a reload. */
  configure(settings: ContentSettings): void {
    this.#post({ type: "retention", retention: retentionOf(settings) });
  }

  /** Reads see everything recorded before the call. */
  read: ArchiveCalls["read"] = (id) => this.#call("read", id);
  list: ArchiveCalls["list"] = (page) => this.#call("list", page);
  exportLines: ArchiveCalls["exportLines"] = (page) => this.#call("exportLines", page);
  delete: ArchiveCalls["delete"] = (filter) => this.#call("delete", filter);
  sizes: ArchiveCalls["sizes"] = () => this.#call("sizes", undefined);
  clean: ArchiveCalls["clean"] = (text) => this.#call("clean", { ...text, secrets: knownSecrets().all() });

  /** Writes everything that waits, then stops the thread. */
  async close(): Promise<void> {
    this.#send();
    this.#post({ type: "close" });
    await Promise.race([this.#closed.promise, Bun.sleep(closeTimeoutMs)]);
    this.#worker.terminate();
    this.#endTraces([...this.#traces.keys()], []);
  }

  #call<Name extends keyof ArchiveCalls>(name: Name, argument: unknown): ReturnType<ArchiveCalls[Name]> {
    this.#send();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#lastCall += 1;
    this.#replies.set(this.#lastCall, { resolve, reject });
    this.#post({ type: "call", no: this.#lastCall, name, argument });
    // The thread answers each call with the result of its kind.
    return promise as ReturnType<ArchiveCalls[Name]>;
  }

  /** While the thread is busy, logs are filled before they are sent, so that a few bytes do not occupy a whole log. */
  readonly #sendInTurn = (): void => {
    if (this.#sent.length < maxLogsInFlight) this.#send();
    else this.#timer = setTimeout(this.#sendInTurn, sendEveryMs);
  };

  #send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const { bytes } = this.#log;
    if (bytes === 0) return;
    const log = this.#log.take();
    const { revision, all } = knownSecrets();
    const secrets = revision === this.#secretsRevision ? null : all();
    this.#secretsRevision = revision;
    this.#sent.push({ bytes, traces: this.#expected });
    this.#expected = [];
    this.#sentBytes += bytes;
    this.#post({ type: "log", log, secrets }, [log.bytes.buffer as ArrayBuffer]);
  }

  #post(message: ToContentThread, moved: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, moved);
  }

  #take(message: FromContentThread): void {
    if (message.type === "read") this.#noteRead(message);
    else if (message.type === "written") this.#noteWritten(message);
    else if (message.type === "opened") this.#opened.resolve();
    else if (message.type === "progress") this.#options.onProgress(message.done, message.all);
    else if (message.type === "refused") this.#opened.reject(refusal(message.reason, message.message));
    else if (message.type === "closed") this.#closed.resolve();
    else {
      const reply = this.#replies.get(message.no);
      this.#replies.delete(message.no);
      if (message.type === "reply") reply?.resolve(message.result);
      else reply?.reject(new Error(message.message));
    }
  }

  #noteRead({ held, dropped, traced, block }: Extract<FromContentThread, { type: "read" }>): void {
    const { bytes, traces } = this.#sent.shift() ?? { bytes: 0, traces: [] };
    this.#sentBytes -= bytes;
    this.#log.reuse(block);
    this.#endTraces(traces, traced);
    this.#heldBytes = held;
    this.countDropped(dropped);
  }

  #noteWritten({ dropped, failure }: WrittenRows): void {
    this.countDropped(dropped);
    if (failure !== null && !this.#isFailing) this.#options.onFailure(failure);
    this.#isFailing = failure !== null;
  }

  /** Requests that could not be read get a span without content. */
  #endTraces(ids: readonly string[], traced: readonly TracedContent[]): void {
    const found = new Map(traced.map((each) => [each.id, each]));
    for (const id of ids) {
      this.#traces.get(id)?.resolve(found.get(id) ?? null);
      this.#traces.delete(id);
    }
  }

  /** The thread has ended. The queue stays full, so every further recording counts as dropped. */
  #lose(message: string): void {
    this.#options.onFailure(message);
    this.#heldBytes = maxQueuedBytes;
    const error = new Error("The content recorder's thread stopped.");
    this.#opened.reject(error);
    this.#closed.resolve();
    for (const { reject } of this.#replies.values()) reject(error);
    this.#replies.clear();
    this.#endTraces([...this.#traces.keys()], []);
  }
}

function retentionOf({ days, maxSizeBytes }: ContentSettings): Retention {
  return { keptMs: days * msPerDay, maxBytes: maxSizeBytes };
}

function refusal(reason: StoreErrorReason | null, message: string): Error {
  return reason === null ? new Error(message) : new StoreError(reason, message);
}
