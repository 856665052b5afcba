import type { ContentRow } from "../store/content-store.ts";
import { type BodyCollector, collectorOf, JsonCollector } from "./body-collector.ts";
import type { RecordingStart } from "./document.ts";
import { readEnd } from "./end-frame.ts";
import { type Frame, frameKinds, readFrames, type SentLog } from "./frame-log.ts";
import { cleanBody, makeDocument } from "./make-document.ts";
import { pack } from "./pack.ts";
import { Redactor } from "./redactor.ts";
import { type TracedContent, tracedContent } from "./traced-content.ts";

/** A request that has not ended. */
interface OpenRecording {
  readonly start: RecordingStart;
  readonly request: JsonCollector;
  readonly response: BodyCollector;
  readonly upstreamRequest: BodyCollector | null;
  readonly upstreamResponse: BodyCollector | null;
  readonly all: readonly BodyCollector[];
}

/** The results of a recording that has ended. */
interface BuiltContent {
  readonly row: ContentRow | null;
  readonly traced: TracedContent | null;
}

interface Assembled {
  readonly rows: ContentRow[];
  readonly traced: TracedContent[];
  readonly failed: number;
}

const wholeJson = { kind: "json", isValid: false } as const;

/** Assembles recordings from the frames of logs, and creates a row for each that has ended. */
export class Assembler {
  readonly #key: Uint8Array | null;
  readonly #open = new Map<number, OpenRecording>();
  redactor = new Redactor([]);

  constructor(key: Uint8Array | null) {
    this.#key = key;
  }

  /** Approximate memory of open recordings. */
  get heldBytes(): number {
    let held = 0;
    for (const { all } of this.#open.values()) for (const collector of all) held += collector.heldBytes;
    return held;
  }

  /** A failure ends only its own recording. */
  take(log: SentLog): Assembled {
    const rows: ContentRow[] = [];
    const traced: TracedContent[] = [];
    let failed = 0;
    readFrames(log, (frame) => {
      try {
        const taken = this.#takeFrame(frame);
        if (taken?.row != null) rows.push(taken.row);
        if (taken?.traced != null) traced.push(taken.traced);
      } catch {
        this.#open.delete(frame.recording);
        failed += 1;
      }
    });
    for (const { all } of this.#open.values()) for (const collector of all) collector.retain();
    return { rows, traced, failed };
  }

  #takeFrame({ kind, recording, part }: Frame): BuiltContent | null {
    if (kind === frameKinds.start) {
      this.#open.set(recording, begun(JSON.parse(part.toString()) as RecordingStart));
      return null;
    }
    const open = this.#open.get(recording);
    if (open === undefined) return null;
    if (kind === frameKinds.request) this.#addRequest(open, part);
    else if (kind === frameKinds.response) open.response.add(part);
    else if (kind === frameKinds.upstreamRequest) open.upstreamRequest?.add(part);
    else if (kind === frameKinds.upstreamResponse) open.upstreamResponse?.add(part);
    else this.#open.delete(recording);
    return kind === frameKinds.end ? this.#made(open, part.toString()) : null;
  }

  /** A request arrives in one piece. A large one is cut at once: its response can take minutes, and several would fill the queue. */
  #addRequest({ request, start: { maxRequestBytes: max } }: OpenRecording, part: Buffer): void {
    request.add(part);
    if (part.length > max) request.finish((body) => cleanBody(body, max, this.redactor));
  }

  #made(open: OpenRecording, written: string): BuiltContent {
    const end = readEnd(written, this.redactor);
    const { start, request, response, upstreamRequest, upstreamResponse } = open;
    const content = {
      end,
      request: request.end(),
      response: response.end(),
      upstream: upstreamResponse && {
        request: upstreamRequest?.end() ?? null,
        response: upstreamResponse.end(),
      },
      maxRequestBytes: start.maxRequestBytes,
      maxResponseBytes: start.maxResponseBytes,
    };
    const { id, atMs, facts } = end;
    const { model, outcome, row } = facts;
    const { keyId, owner, isKept, isTraced } = row;
    const document = makeDocument(content, this.redactor);
    // Before packing, which can encrypt the document in place.
    const traced = isTraced ? tracedContent(id, document) : null;
    if (!isKept) return { row: null, traced };
    const body = pack(document, id, this.#key);
    return { row: { id, atMs, keyId, owner, model: model ?? "", outcome, body }, traced };
  }
}

function begun(start: RecordingStart): OpenRecording {
  const { maxRequestBytes, maxResponseBytes, upstream } = start;
  const request = new JsonCollector(start.isRequestValid);
  const response = collectorOf(start.response, maxResponseBytes);
  const upstreamRequest = upstream && collectorOf(wholeJson, maxRequestBytes);
  const upstreamResponse = upstream && collectorOf(upstream.response, maxResponseBytes);
  const all = [request, response, upstreamRequest, upstreamResponse].filter((each) => each !== null);
  return { start, request, response, upstreamRequest, upstreamResponse, all };
}
