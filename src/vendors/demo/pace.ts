import { setTimeout } from "node:timers/promises";
import type { Scenario } from "./scenario.ts";
import type { PacedFrame } from "./write-answer.ts";

export interface Pace extends Pick<Scenario, "pieceMs" | "pauseMs" | "interruption"> {
  /** How many of the frames have content. */
  readonly contentFrames: number;
  readonly errorFrame: string;
}

/** The longest that a timer takes: nothing but an abort ends it. */
const foreverMs = 2 ** 31 - 1;

/** Like `fetch`: an abort rejects whatever is being waited for. */
export function abortable(ms: number, signal: AbortSignal): Promise<void> {
  return setTimeout(Math.min(ms, foreverMs), undefined, { signal, ref: ms < foreverMs });
}

/**
 * A body that sends frames at a pace. The next frame is made only when it is pulled, so a stalled reader stops the demo as
 * it would stop a provider.
 */
export function pacedBody(
  frames: Generator<PacedFrame>,
  pace: Pace,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const middle = Math.floor(pace.contentFrames / 2);
  let contentSent = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value: next, done } = frames.next();
        if (done) return controller.close();
        if (next.content && contentSent++ === middle) {
          if (pace.pauseMs > 0) await abortable(pace.pauseMs, signal);
          if (pace.interruption === "stall") await abortable(Number.POSITIVE_INFINITY, signal);
          if (pace.interruption === "break") controller.enqueue(encoder.encode(pace.errorFrame));
          if (pace.interruption !== null) return controller.close();
        }
        if (signal.aborted || (next.content && pace.pieceMs > 0)) await abortable(pace.pieceMs, signal);
        controller.enqueue(encoder.encode(next.frame));
      },
    },
    { highWaterMark: 0 },
  );
}
