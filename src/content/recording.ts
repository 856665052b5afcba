import { type ContentLevel, strictestContent } from "../base/requests/content-level.ts";
import type { BodyForm, RecordingEnd, RecordingStart } from "./document.ts";
import { type FrameKind, frameKinds } from "./frame-log.ts";

/** Receives the frames of recordings. `add` returns false if there is no room; the recording is then dropped. */
export interface FrameSink {
  add(kind: FrameKind, recording: number, piece: Uint8Array | string): boolean;
  /** The span of this request waits for its content. */
  expectTrace(id: string): void;
}

/** The level for each purpose. */
export interface ContentLevels {
  /** In the store. */
  readonly kept: ContentLevel;
  /** The level for the request's span. */
  readonly traced: ContentLevel;
}

/** Bytes that pass through, or text that was written here. */
type Piece = Uint8Array | string;

/** What an attempt sent to a provider, and what the provider returned before the client's response began. */
interface UpstreamContent {
  readonly request: Piece;
  readonly dialect: string;
  readonly response: Piece[];
  responseBytes: number;
  isStreamed: boolean;
}

/** Limit for the provider's response before the client's response begins. */
const maxUpstreamBytes = 8_000_000;

function upstreamForm({ dialect, isStreamed }: UpstreamContent): BodyForm {
  return isStreamed ? { kind: "events", format: dialect } : { kind: "json", isValid: false };
}

/** The recording of one request. Nothing is copied before its response begins. */
export class ContentRecording {
  /** An attempt's request to the provider, and its response before the client's response began. */
  #levels: ContentLevels;
  readonly #no: number;
  readonly #sink: FrameSink;
  readonly #limits: Pick<RecordingStart, "maxRequestBytes" | "maxResponseBytes">;
  readonly #recordsUpstream: boolean;
  /** Approximate maximum number of bytes of the request that are stored. */
  readonly requestBytes: number;
  #request: Piece | null;
  #upstream: UpstreamContent | null = null;
  /** Whether the provider's response is recorded. */
  hasUpstream = false;
  #state: "waiting" | "open" | "over" = "waiting";

  constructor(options: {
    readonly no: number;
    readonly levels: ContentLevels;
    readonly request: Piece | null;
    readonly sink: FrameSink;
    readonly limits: Pick<RecordingStart, "maxRequestBytes" | "maxResponseBytes">;
    readonly recordsUpstream: boolean;
  }) {
    this.#levels = options.levels;
    this.#recordsUpstream = options.recordsUpstream;
    this.#no = options.no;
    this.#request = options.request;
    this.#sink = options.sink;
    this.#limits = options.limits;
    this.requestBytes = Math.min(options.request?.length ?? 0, options.limits.maxRequestBytes);
  }

  /** `request`: what a translated attempt sends to the provider; null if the attempt passes through, where client and provider see the same. */
  prepareUpstream(request: Piece | null, dialect: string): void {
    this.hasUpstream = this.#recordsUpstream && request !== null;
    this.#upstream =
      this.hasUpstream && request !== null
        ? { request, dialect, response: [], responseBytes: 0, isStreamed: false }
        : null;
  }

  /** The provider's response begins. */
  upstreamBegins(isStreamed: boolean): void {
    if (this.#upstream !== null) this.#upstream.isStreamed = isStreamed;
  }

  /** The response begins. The request is copied too, because its bytes are released soon. */
  open(response: BodyForm, isRequestValid: boolean): void {
    if (this.#state !== "waiting") return;
    const upstream = this.#upstream && { response: upstreamForm(this.#upstream) };
    const start: RecordingStart = { isRequestValid, response, upstream, ...this.#limits };
    this.#state = "open";
    this.#add(frameKinds.start, JSON.stringify(start));
    if (this.#request !== null) this.#add(frameKinds.request, this.#request);
    if (this.#upstream !== null) this.#add(frameKinds.upstreamRequest, this.#upstream.request);
    for (const piece of this.#upstream?.response ?? []) this.#add(frameKinds.upstreamResponse, piece);
    this.#request = null;
    this.#upstream = null;
  }

  /** The level for the store. */
  get kept(): ContentLevel {
    return this.#levels.kept;
  }

  /** The purposes that need the recording, given whether the request completed. */
  wants(isCompleted: boolean): { readonly isKept: boolean; readonly isTraced: boolean } {
    const isWanted = (level: ContentLevel) => level === "all" || (level === "failed" && !isCompleted);
    return { isKept: isWanted(this.#levels.kept), isTraced: isWanted(this.#levels.traced) };
  }

  /** Lowers the levels to at most this one. False if nothing is wanted then. */
  narrow(level: ContentLevel): boolean {
    const { kept, traced } = this.#levels;
    this.#levels = { kept: strictestContent(kept, level), traced: strictestContent(traced, level) };
    return this.#levels.kept !== "none" || this.#levels.traced !== "none";
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  response(piece: Piece): void {
    this.#add(frameKinds.response, piece);
  }

  /** Number of bytes of the provider's response that can still be stored before the recording is opened. */
  get upstreamRoom(): number {
    return maxUpstreamBytes - (this.#upstream?.responseBytes ?? 0);
  }

  /** Adds a piece. Before the recording is opened, pieces are kept up to a maximum. */
  upstreamResponse(piece: Piece): void {
    const waiting = this.#upstream;
    if (waiting === null) {
      if (this.hasUpstream) this.#add(frameKinds.upstreamResponse, piece);
      return;
    }
    const kept = piece.slice(0, this.upstreamRoom);
    waiting.response.push(kept);
    waiting.responseBytes += kept.length;
  }

  end(end: RecordingEnd): void {
    this.#add(frameKinds.end, JSON.stringify(end));
    if (this.#state === "open" && end.facts.row.isTraced) this.#sink.expectTrace(end.id);
    this.#state = "over";
  }

  /** Discards the recording. */
  drop(): void {
    if (this.#state === "open") this.#sink.add(frameKinds.drop, this.#no, "");
    this.#state = "over";
  }

  #add(kind: FrameKind, piece: Piece): void {
    if (this.#state !== "open" || this.#sink.add(kind, this.#no, piece)) return;
    this.drop();
  }
}
