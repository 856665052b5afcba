import type { ResponseRecorder } from "../../idempotency/recorder.ts";
import type { StoredResponse } from "../../store/store.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import type { UsageEvidence } from "../charge/usage-evidence.ts";
import { bytesOf, type Piece } from "../exchange/client-call.ts";
import { asCreated, type Delivery, recordFacts, streamHeaders } from "./pending-response.ts";
import { factsOf, type StreamRelayer } from "./stream-relayer.ts";

/** Reads what follows the end of a stream. */
type ReadTrailing = (take: (piece: Piece) => void) => Promise<void>;

/** The part of a stream that is stored for a retry with the same idempotency key; nothing without one. */
export class StreamRecording {
  /** Stored by the settle; null until the stream has ended. */
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

/** How long bytes can follow the proper end. Reading them makes the provider's connection reusable. */
export const trailingMs = 1000;

/**
 * Maximum number of trailing bytes to read. A recorded stream keeps them until it is settled, so they count toward its
 * memory.
 */
const maxTrailingBytes = 64 * 1024;

/**
 * Reads what follows the proper end of a provider's stream. A provider that disconnects, stalls or keeps sending there does
 * no harm.
 */
export async function readTrailing(
  opened: OpenedCall,
  relayer: StreamRelayer,
  take: (piece: Piece) => Promise<void> | undefined | void,
): Promise<void> {
  let bytes = 0;
  try {
    for (let chunk = await opened.read(); chunk !== null; chunk = await opened.read()) {
      bytes += chunk.length;
      if (bytes > maxTrailingBytes) break;
      const piece = relayer.push(chunk);
      if (piece.length > 0) await take(piece);
    }
  } catch {
    // What was read before is delivered.
  }
  // Nothing is left to end of a body that was read to its end.
  opened.abort();
}

/**
 * Returns the pieces that end a stream, with the usage that is charged. They are recorded, and the continuable part of
 * the response is ready to be stored.
 */
export async function takeEnd(
  pending: Delivery,
  relayer: StreamRelayer,
  evidence: UsageEvidence,
  recording: StreamRecording,
  read: ReadTrailing,
): Promise<readonly Piece[]> {
  // Clients are shown what they are charged.
  const estimating = pending.meter.estimated(evidence);
  if (estimating !== null) relayer.showUsage(await estimating);
  const terminal = await asCreated(pending, relayer.terminal());
  const end = await recording.end(terminal, read);
  await recordFacts(pending, factsOf(relayer), terminal);
  return end;
}
