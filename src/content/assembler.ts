import { asBuffer } from "../base/as-buffer.ts";
import type { ContentRow } from "../store/content-store.ts";
import { type BodyCollector, collectorOf } from "./body-collector.ts";
import type { RecordingEnd, RecordingStart } from "./document.ts";
import { type Frame, frameKinds, framesOf, type SentLog } from "./frame-log.ts";
import { makeDocument } from "./make-document.ts";
import { pack } from "./pack.ts";
import { Redactor } from "./redactor.ts";

/** One request whose end has not come. */
interface OpenRecording {
  readonly start: RecordingStart;
  readonly request: BodyCollector;
  readonly response: BodyCollector;
  readonly upstreamRequest: BodyCollector;
  readonly upstreamResponse: BodyCollector | null;
}

const wholeJson = { kind: "json", isValid: false } as const;

/** Puts recordings together from the frames of the log, and makes a row of each that has ended. */
export class Assembler {
  readonly #key: Uint8Array | null;
  readonly #open = new Map<number, OpenRecording>();
  redactor = new Redactor([]);

  constructor(key: Uint8Array | null) {
    this.#key = key;
  }

  /** What open recordings take, roughly. */
  get heldBytes(): number {
    let held = 0;
    for (const { request, response, upstreamRequest, upstreamResponse } of this.#open.values())
      held +=
        request.heldBytes +
        response.heldBytes +
        upstreamRequest.heldBytes +
        (upstreamResponse?.heldBytes ?? 0);
    return held;
  }

  /** What fails ends that recording alone. */
  take(log: SentLog): { readonly rows: ContentRow[]; readonly failed: number } {
    const rows: ContentRow[] = [];
    let failed = 0;
    for (const frame of framesOf(log)) {
      try {
        const row = this.#takeFrame(frame);
        if (row !== null) rows.push(row);
      } catch {
        this.#open.delete(frame.recording);
        failed += 1;
      }
    }
    return { rows, failed };
  }

  #takeFrame({ kind, recording, bytes }: Frame): ContentRow | null {
    if (kind === frameKinds.start) {
      this.#open.set(recording, begun(JSON.parse(asBuffer(bytes).toString()) as RecordingStart));
      return null;
    }
    const open = this.#open.get(recording);
    if (open === undefined) return null;
    if (kind === frameKinds.request) open.request.add(bytes);
    else if (kind === frameKinds.response) open.response.add(bytes);
    else if (kind === frameKinds.upstreamRequest) open.upstreamRequest.add(bytes);
    else if (kind === frameKinds.upstreamResponse) open.upstreamResponse?.add(bytes);
    else this.#open.delete(recording);
    return kind === frameKinds.end
      ? this.#row(open, JSON.parse(asBuffer(bytes).toString()) as RecordingEnd)
      : null;
  }

  #row(open: OpenRecording, end: RecordingEnd): ContentRow {
    const { start, request, response, upstreamRequest, upstreamResponse } = open;
    const content = {
      end,
      request: request.end(),
      response: response.end(),
      upstream: upstreamResponse && { request: upstreamRequest.end(), response: upstreamResponse.end() },
      maxRequestBytes: start.maxRequestBytes,
      maxResponseBytes: start.maxResponseBytes,
    };
    const { id, atMs, keyId, owner, model, outcome } = end;
    const body = pack(Buffer.from(makeDocument(content, this.redactor)), id, this.#key);
    return { id, atMs, keyId, owner, model: model ?? "", outcome, body };
  }
}

function begun(start: RecordingStart): OpenRecording {
  const { request, response, upstream } = start;
  return {
    start,
    request: collectorOf(request),
    response: collectorOf(response),
    upstreamRequest: collectorOf(wholeJson),
    upstreamResponse: upstream && collectorOf(upstream.response),
  };
}
