import { abortAfter } from "../../base/loop/deadline.ts";
import { readFrames } from "../../base/requests/frames.ts";

/** How long a gateway can be silent. */
export interface Patience {
  /** While a call has no response, the gateway is asked this often whether it responds at all. */
  readonly probeEveryMs: number;
  /** A gateway that does not respond to that for so long hangs, or cannot be reached. */
  readonly probeMs: number;
  /** A gateway that has begun with frames sends one every second. */
  readonly frameMs: number;
}

export const usualPatience: Patience = { probeEveryMs: 5_000, probeMs: 20_000, frameMs: 60_000 };

/** The gateway was silent for too long. */
export class GatewaySilent extends Error {
  readonly seconds: number;

  constructor(limitMs: number) {
    super();
    this.seconds = Math.round(limitMs / 1000);
  }
}

export interface PatientCall {
  /** Sends the call. */
  send(signal: AbortSignal): Promise<Response>;
  /** Asks the gateway for something that it always has at once. */
  probe(signal: AbortSignal): Promise<unknown>;
  /** Called with the progress of the operation. */
  onNote(text: string): void;
  readonly patience: Patience;
}

/**
 * Sends a call that can take hours, and gives up only if the gateway is silent. The limit holds until the body of the
 * response has arrived.
 */
export async function callPatiently({ send, probe, onNote, patience }: PatientCall): Promise<Response> {
  const { probeEveryMs, probeMs, frameMs } = patience;
  const silent = new AbortController();
  const ended = new AbortController();
  let framedAtMs: number | null = null;
  const watch = setInterval(() => {
    if (framedAtMs !== null) {
      if (performance.now() - framedAtMs > frameMs) silent.abort(new GatewaySilent(frameMs));
      return;
    }
    const probing = AbortSignal.any([abortAfter(probeMs), ended.signal]);
    probe(probing).catch((error: unknown) => {
      if (error instanceof DOMException && framedAtMs === null) silent.abort(new GatewaySilent(probeMs));
    });
  }, probeEveryMs);
  // The call itself keeps the process alive.
  watch.unref();
  const end = () => {
    clearInterval(watch);
    // A probe that waits would keep the process alive.
    ended.abort();
  };
  const orSilent = (error: unknown): never => {
    end();
    throw silent.signal.aborted ? silent.signal.reason : error;
  };
  const response = await send(silent.signal)
    .then((sent) =>
      readFrames(sent, (note) => {
        framedAtMs = performance.now();
        if (note) onNote(note);
      }),
    )
    .catch(orSilent);
  if (response.body === null) {
    end();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch(orSilent);
      if (!done) return controller.enqueue(value);
      end();
      controller.close();
    },
    async cancel() {
      end();
      await reader.cancel();
    },
  });
  return new Response(body, response);
}
