import type { Cell } from "./cells.ts";
import { steady } from "./payloads.ts";
import type { PacedResult, Results } from "./results.ts";
import { cpu, type MedianMetrics, type RoundMetrics, ratio, speed } from "./rounds.ts";

/** A promise about speed, and what came of it. `met` is null where the run did not measure it. */
export interface Bar {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly met: boolean | null;
}

const json: Cell = { route: "chat", size: "1 KB", stream: false, concurrency: 32 };
const large: Cell = { ...json, size: "100 KB" };
const stream: Cell = { ...json, stream: true };
const translatedStream: Cell = { ...stream, route: "messages → chat" };
const embeddings: Cell = { ...json, route: "embeddings" };
const judged = [json, large, stream, translatedStream, embeddings];

/** Whether a bar is about this cell. */
export function isJudged(cell: Cell): boolean {
  return judged.some((it) => Bun.deepEquals(it, cell));
}

export function judge(results: Results): Bar[] {
  return [
    atLeast("chat JSON 1 KB c=32: requests per second of bare", 0.42, speedRatio(results, json)),
    atMost("chat JSON 100 KB c=32: CPU per request of bare", 1.6, cpuRatio(results, large)),
    atMost("embeddings of 100 inputs c=32: CPU per request of bare", 1.6, cpuRatio(results, embeddings)),
    atLeast("chat stream c=32: streams per second of bare", 0.8, speedRatio(results, stream)),
    atLeast("messages → chat stream: streams per second of bare", 0.5, speedRatio(results, translatedStream)),
    atLeast("chat JSON 1 KB c=32: requests per second of Portkey", 15, speedRatio(results, json, "portkey")),
    ...results.paced.flatMap(pacedBars),
    below("memory when idle", 80, results.memory.idleMegabytes, "MB"),
    below("memory 3 s after all cells", 150, results.memory.afterwardsMegabytes, "MB"),
    growthBar(results),
    continuedBar(results),
    socketBar(results),
  ];
}

/** Thousands of instructions of a chat request on the event loop, by `bench instructions`. */
export function instructionsBar(loop: number | null): Bar {
  return below("chat JSON 1 KB c=32: thousands of instructions on the event loop", 200, loop, "");
}

/** One call at a time after many others, by `bench tail`. */
export function tailBar(addedMs: number): Bar {
  return below("one call at a time after many: added p99, over bare", 3, addedMs, "ms");
}

function figuresOf(results: Results, cell: Cell, name: "bare" | "sluice" | "portkey") {
  return results.cells.find((it) => Bun.deepEquals(it.cell, cell))?.figures[name] ?? null;
}

function ratioOf(
  ours: MedianMetrics | null,
  theirs: MedianMetrics | null,
  pick: (figures: RoundMetrics) => number,
) {
  return ours === null || theirs === null ? null : ratio(ours, theirs, pick);
}

function speedRatio(results: Results, cell: Cell, peer: "bare" | "portkey" = "bare"): number | null {
  const [ours, theirs] = [figuresOf(results, cell, "sluice"), figuresOf(results, cell, peer)];
  return ratioOf(ours, theirs, speed);
}

function cpuRatio(results: Results, cell: Cell): number | null {
  const [ours, theirs] = [figuresOf(results, cell, "sluice"), figuresOf(results, cell, "bare")];
  return ratioOf(ours, theirs, cpu);
}

/** CPU per event of bare. Streams that all end at once leave the gateway more to do than relaying. */
const mostPacedCpu = new Map([[steady, 1.4]]);

function pacedBars({ pacing, bare, sluice }: PacedResult): Bar[] {
  const { name } = pacing;
  const { eventsSeen, eventsWanted, failures, peakMegabytes, idleMegabytes } = sluice;
  const mostCpu = mostPacedCpu.get(pacing);
  const share = sluice.cpuMicrosPerEvent / bare.cpuMicrosPerEvent;
  return [
    {
      what: `${name}: every event arrives`,
      wanted: `= ${eventsWanted}`,
      measured: String(eventsSeen),
      met: eventsSeen === eventsWanted && failures === 0,
    },
    ...(mostCpu === undefined ? [] : [atMost(`${name}: CPU per event of bare`, mostCpu, share)]),
    below(`${name}: memory above idle`, 150, peakMegabytes - idleMegabytes, "MB"),
  ];
}

/** CPU time is what growth would show in, and is the steadier figure of the two. */
function growthBar({ growth }: Results): Bar {
  const what = "1,000,000 records, 10,000 keys: CPU per request of empty";
  return atMost(what, 1.1, growth === null ? null : ratio(growth.filled, growth.empty, cpu));
}

function continuedBar({ continued }: Results): Bar {
  const added = continued === null ? null : continued.continuedMs - continued.aloneMs;
  return below("a response that continues 100 turns, 400 KB: added to the first byte", 10, added, "ms");
}

function socketBar({ socket }: Results): Bar {
  const share = socket === null ? null : ratio(socket.socket, socket.http, cpu);
  return atMost("a response over WebSocket: CPU of the same over HTTP", 1.1, share);
}

export function atLeast(what: string, bar: number, value: number | null): Bar {
  return {
    what,
    wanted: `≥ ${bar.toFixed(2)}`,
    measured: value?.toFixed(2) ?? "",
    met: value === null ? null : value >= bar,
  };
}

export function atMost(what: string, bar: number, value: number | null): Bar {
  return {
    what,
    wanted: `≤ ${bar.toFixed(2)}`,
    measured: value?.toFixed(2) ?? "",
    met: value === null ? null : value <= bar,
  };
}

export function below(what: string, bar: number, value: number | null, unit: string): Bar {
  return {
    what,
    wanted: `< ${bar} ${unit}`,
    measured: value === null ? "" : `${Math.round(value)} ${unit}`,
    met: value === null ? null : value < bar,
  };
}
