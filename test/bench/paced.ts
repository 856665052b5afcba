import type { Gateway } from "./gateways.ts";
import type { LoadProcess } from "./load-process.ts";
import type { Pacing } from "./payloads.ts";
import { cpuMicros, residentMegabytes } from "./proc.ts";

export const pacedStreams = 1000;

export interface PacedFigures {
  readonly eventsWanted: number;
  readonly eventsSeen: number;
  readonly failures: number;
  readonly firstFailure: string | null;
  /** Each event comes alone here, so this is what relaying one costs. */
  readonly cpuMicrosPerEvent: number;
  /** The same in the steady while of a pacing that has one. */
  readonly steadyCpuMicrosPerEvent: number | null;
  readonly firstEventP50Micros: number;
  /** Between two events of one stream. */
  readonly gapP99Ms: number;
  readonly longestGapMs: number;
  readonly idleMegabytes: number;
  readonly peakMegabytes: number;
  readonly afterwardsMegabytes: number;
}

/** Wants a gateway that has not served anything yet: its memory before and during is part of the result. */
export async function measurePaced(
  load: LoadProcess,
  gateway: Gateway,
  pacing: Pacing,
): Promise<PacedFigures> {
  const { events, streamsPerConnection, steadyMs } = pacing;
  await Bun.sleep(1000);
  const idleMegabytes = residentMegabytes(gateway.pid);
  let peakMegabytes = idleMegabytes;
  const samples: Sample[] = [];
  const startedMs = performance.now();
  const watch = setInterval(() => {
    peakMegabytes = Math.max(peakMegabytes, residentMegabytes(gateway.pid));
    const atMs = performance.now() - startedMs;
    if (steadyMs !== null && atMs >= steadyMs.from && atMs <= steadyMs.until) {
      samples.push({ atMs, cpuMicros: cpuMicros(gateway.pid) });
    }
  }, 50);
  const result = await load.run({
    target: gateway.pacedTarget(pacing),
    concurrency: pacedStreams,
    mode: "once",
    requestsPerConnection: streamsPerConnection,
    warmupMs: 0,
    windowMs: 0,
    eventsPerResponse: events,
  });
  clearInterval(watch);
  await Bun.sleep(2000);
  return {
    eventsWanted: pacedStreams * streamsPerConnection * events,
    eventsSeen: result.events,
    failures: result.failures,
    firstFailure: result.firstFailure,
    cpuMicrosPerEvent: result.cpuMicros / Math.max(result.events, 1),
    steadyCpuMicrosPerEvent: steadyMs === null ? null : perEvent(samples, pacing),
    firstEventP50Micros: result.firstEventP50Micros,
    gapP99Ms: result.gapP99Ms,
    longestGapMs: result.longestGapMs,
    idleMegabytes,
    peakMegabytes,
    afterwardsMegabytes: residentMegabytes(gateway.pid),
  };
}

interface Sample {
  readonly atMs: number;
  readonly cpuMicros: number;
}

/** All streams have an event in every gap, so how many came in a while is known. */
function perEvent(samples: readonly Sample[], { gapMs }: Pacing): number {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined || last.atMs === first.atMs) return Number.NaN;
  const events = (pacedStreams * (last.atMs - first.atMs)) / gapMs;
  return (last.cpuMicros - first.cpuMicros) / events;
}
