import type { ResponseRecorder } from "../../idempotency/recorder.ts";
import type { StoredResponse } from "../../store/store.ts";
import { streamHeaders } from "./answering.ts";
import { bytesOf, type Piece } from "./stream-relayer.ts";

/** Reads what follows the end of a stream. */
type ReadTrailing = (take: (piece: Piece) => void) => Promise<void>;

/** What is kept of a stream for a retry with the same idempotency key; nothing without one. */
export class StreamRecording {
  /** What the settle stores; null until the stream has ended. */
  stored: StoredResponse | null = null;
  readonly #recorder: ResponseRecorder | null;

  constructor(recorder: ResponseRecorder | null) {
    this.#recorder = recorder;
  }

  get isKept(): boolean {
    return this.#recorder !== null;
  }

  add(piece: Piece): void {
    this.#recorder?.append(bytesOf(piece));
  }

  /** Returns the pieces that end the stream. A recording has to be whole before the charge, trailing bytes included. */
  async end(terminal: Piece, readTrailing: ReadTrailing): Promise<readonly Piece[]> {
    const end = [terminal];
    if (this.#recorder === null) return end;
    await readTrailing((piece) => void end.push(piece));
    for (const piece of end) this.add(piece);
    this.stored = await this.#recorder.finish({ status: 200, headers: streamHeaders });
    return end;
  }
}
