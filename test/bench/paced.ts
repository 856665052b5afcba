import type { Gateway } from "./gateways.ts";
import type { LoadProcess } from "./load-process.ts";
import { pacedEvents, pacedGapMs } from "./payloads.ts";
import { cpuMicros, residentMegabytes } from "./proc.ts";

export const pacedStreams = 1000;

/** A thousand streams at once, each an event every 50 ms. */
export interface PacedFigures {
  readonly streams: number;
  readonly eventsWanted: number;
  readonly eventsSeen: number;
  readonly failures: number;
  readonly firstFailure: string | null;
  /** Each event comes alone here, so this is what relaying one costs. */
  readonly cpuMicrosPerEvent: number;
  /** The same without the first seconds, which begin the streams on a process that has not served anything. */
  readonly steadyCpuMicrosPerEvent: number;
  readonly firstEventP50Micros: number;
  /** Between two events of one stream; the provider sends one every 50 ms. */
  readonly gapP99Ms: number;
  readonly longestGapMs: number;
  readonly idleMegabytes: number;
  readonly peakMegabytes: number;
  readonly afterwardsMegabytes: number;
}

/** The streams take 5 s. In this stretch of it all of them run, and what began them is compiled. */
const steadyFromMs = 2500;
const steadyUntilMs = 4500;

/** Wants a gateway that has not served anything yet: its memory before and during is part of the result. */
export async function measurePaced(load: LoadProcess, gateway: Gateway): Promise<PacedFigures> {
  await Bun.sleep(1000);
  const idleMegabytes = residentMegabytes(gateway.pid);
  let peakMegabytes = idleMegabytes;
  const steady: { readonly atMs: number; readonly cpuMicros: number }[] = [];
  const startedMs = performance.now();
  const watch = setInterval(() => {
    peakMegabytes = Math.max(peakMegabytes, residentMegabytes(gateway.pid));
    const atMs = performance.now() - startedMs;
    if (atMs >= steadyFromMs && atMs <= steadyUntilMs) {
      steady.push({ atMs, cpuMicros: cpuMicros(gateway.pid) });
    }
  }, 50);
  const result = await load.run({
    target: gateway.pacedTarget(),
    concurrency: pacedStreams,
    mode: "once",
    warmupMs: 0,
    windowMs: 0,
    eventsPerAnswer: pacedEvents,
  });
  clearInterval(watch);
  await Bun.sleep(2000);
  return {
    streams: pacedStreams,
    eventsWanted: pacedStreams * pacedEvents,
    eventsSeen: result.events,
    failures: result.failures,
    firstFailure: result.firstFailure,
    cpuMicrosPerEvent: result.cpuMicros / Math.max(result.events, 1),
    steadyCpuMicrosPerEvent: perEvent(steady),
    firstEventP50Micros: result.firstEventP50Micros,
    gapP99Ms: result.gapP99Ms,
    longestGapMs: result.longestGapMs,
    idleMegabytes,
    peakMegabytes,
    afterwardsMegabytes: residentMegabytes(gateway.pid),
  };
}

/** All streams have an event every 50 ms, so how many came in a while is known. */
function perEvent(samples: readonly { readonly atMs: number; readonly cpuMicros: number }[]): number {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined || last.atMs === first.atMs) return Number.NaN;
  const events = (pacedStreams * (last.atMs - first.atMs)) / pacedGapMs;
  return (last.cpuMicros - first.cpuMicros) / events;
}
