import type { Cell } from "./cells.ts";
import type { ContentCell } from "./content.ts";
import { steady, turnover } from "./payloads.ts";
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
const alone: Cell = { ...json, concurrency: 1 };
const translated: Cell = { ...json, route: "messages → chat" };
const translatedStream: Cell = { ...translated, stream: true };
const responses: Cell = { ...json, route: "responses" };
const embeddings: Cell = { ...json, route: "embeddings" };
const judged = [json, large, stream, alone, translated, translatedStream, responses, embeddings];

/** Whether a bar is about this cell. */
export function isJudged(cell: Cell): boolean {
  return judged.some((it) => Bun.deepEquals(it, cell));
}

export function judge(results: Results): Bar[] {
  return [
    atLeast("chat JSON 1 KB c=32: requests per second of bare", 0.66, speedRatio(results, json)),
    atMost("chat JSON 1 KB c=32: CPU per request of bare", 1.45, cpuRatio(results, json)),
    atMost("chat JSON 100 KB c=32: CPU per request of bare", 1.6, cpuRatio(results, large)),
    atMost("embeddings of 100 inputs c=32: CPU per request of bare", 1.6, cpuRatio(results, embeddings)),
    atLeast("chat stream c=32: streams per second of bare", 0.93, speedRatio(results, stream)),
    atLeast("stored responses c=32: requests per second of bare", 0.42, speedRatio(results, responses)),
    storedBar(results),
    addedLatency(results),
    atLeast("messages → chat JSON: requests per second of bare", 0.55, speedRatio(results, translated)),
    atLeast(
      "messages → chat stream: streams per second of bare",
      0.45,
      speedRatio(results, translatedStream),
    ),
    atLeast("chat JSON 1 KB c=32: requests per second of Portkey", 15, speedRatio(results, json, "portkey")),
    ...results.paced.flatMap(pacedBars),
    below("memory when idle", 80, results.memory.idleMegabytes, "MB"),
    below("memory 3 s after all cells", 150, results.memory.afterwardsMegabytes, "MB"),
    growthBar(results),
    continuedBar(results),
    socketBar(results),
    ...contentBars(results),
  ];
}

function figuresOf(results: Results, cell: Cell, name: "bare" | "sluice" | "portkey" | "direct") {
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

/** The same request as by chat, but its response can be read and continued. */
function storedBar(results: Results): Bar {
  const [stored, chat] = [figuresOf(results, responses, "sluice"), figuresOf(results, json, "sluice")];
  const share = stored === null || chat === null ? null : cpu(stored) / cpu(chat);
  return atMost("stored responses c=32: CPU per request of chat", 1.4, share);
}

function addedLatency(results: Results): Bar {
  const [ours, bare] = [figuresOf(results, alone, "sluice"), figuresOf(results, alone, "bare")];
  const added = ours === null || bare === null ? null : ours.p50Micros - bare.p50Micros;
  return below("added p50 at c=1, over bare", 200, added, "µs");
}

/** What a pacing's bars are. Streams that all end at once leave the gateway more to do in a moment than the machine has. */
const pacedLimits = new Map([
  [steady, { cpu: 1.2, gapP99Ms: 25, longestGapMs: 40 }],
  [turnover, { cpu: 1.1, gapP99Ms: 15, longestGapMs: 90 }],
]);

function pacedBars({ pacing, bare, sluice }: PacedResult): Bar[] {
  const limits = pacedLimits.get(pacing);
  if (limits === undefined) return [];
  const { name } = pacing;
  const { eventsSeen, eventsWanted, failures, peakMegabytes, idleMegabytes } = sluice;
  return [
    {
      what: `${name}: every event arrives`,
      wanted: `= ${eventsWanted}`,
      measured: String(eventsSeen),
      met: eventsSeen === eventsWanted && failures === 0,
    },
    atMost(`${name}: CPU per event of bare`, limits.cpu, sluice.cpuMicrosPerEvent / bare.cpuMicrosPerEvent),
    below(`${name}: gap p99, over bare`, limits.gapP99Ms, sluice.gapP99Ms - bare.gapP99Ms, "ms"),
    below(
      `${name}: longest gap, over bare`,
      limits.longestGapMs,
      sluice.longestGapMs - bare.longestGapMs,
      "ms",
    ),
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

/** The threads that record are counted with the rest of the process. */
function contentBars({ content }: Results): Bar[] {
  const share = (cell: ContentCell | undefined) =>
    cell === undefined ? null : ratio(cell.on, cell.off, cpu);
  return [
    atMost("content recorded, chat JSON 1 KB c=32: CPU of the same without", 1.15, share(content?.json)),
    atMost("content recorded, chat stream c=32: CPU of the same without", 1.1, share(content?.stream)),
  ];
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
