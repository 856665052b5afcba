import type { Bar } from "./bars.ts";
import { cellName } from "./cells.ts";
import type { ContentCell, ContentFigures } from "./content.ts";
import type { PacedFigures } from "./paced.ts";
import { peers } from "./peers.ts";
import type { CellResult, PacedResult, Results } from "./results.ts";
import { cpu, type MedianMetrics, type RoundMetrics, ratio, speed } from "./rounds.ts";

/** The run as text: what was measured, then the bars. */
export function report(results: Results, bars: readonly Bar[]): string {
  return [
    `${results.machine}, ${results.startedAt}, ${Math.round(results.seconds)} s`,
    "",
    align(cellRows(results.cells), [0]),
    "",
    ...facts(results),
    "",
    align(barRows(bars), [0, 3]),
  ].join("\n");
}

function cellRows(cells: readonly CellResult[]): string[][] {
  const head = [
    "cell",
    "bare req/s",
    "sluice req/s",
    "ratio",
    "bare CPU µs",
    "sluice CPU µs",
    "ratio",
    "added p50 µs",
    "added p99 µs",
    "added first event µs",
  ];
  return [head, ...cells.flatMap(cellRow)];
}

function cellRow({ cell, figures }: CellResult): string[][] {
  const { bare, sluice, other, direct } = figures;
  if (bare === undefined || sluice === undefined) return [];
  const added = (ours: number, theirs: number | undefined) =>
    theirs === undefined ? "" : Math.round(ours - theirs).toString();
  const row = [
    cellName(cell),
    whole(bare.requestsPerSecond),
    whole(sluice.requestsPerSecond),
    times(sluice, bare, speed),
    bare.cpuMicrosPerRequest.toFixed(1),
    sluice.cpuMicrosPerRequest.toFixed(1),
    times(sluice, bare, cpu),
    added(sluice.p50Micros, direct?.p50Micros),
    added(sluice.p99Micros, direct?.p99Micros),
    cell.stream ? added(sluice.firstEventP50Micros, direct?.firstEventP50Micros) : "",
  ];
  const others = [
    ...(other === undefined ? [] : [peerRow("the other build", other, bare)]),
    ...peers.flatMap(({ name, title }) => {
      const peer = figures[name];
      return peer === undefined ? [] : [peerRow(title, peer, bare)];
    }),
  ];
  return [row, ...others];
}

/** A cell in one line, for those who wait for the rest. */
export function cellLine({ cell, figures }: CellResult): string {
  const { bare, sluice, other } = figures;
  if (bare === undefined || sluice === undefined) return cellName(cell);
  const ofBare = (its: MedianMetrics) =>
    `${whole(its.requestsPerSecond)} req/s (${times(its, bare, speed)} of bare), ` +
    `${its.cpuMicrosPerRequest.toFixed(1)} µs CPU (${times(its, bare, cpu)} ×)`;
  const others = other === undefined ? "" : `; the other build ${ofBare(other)}`;
  return `${cellName(cell)}: ${ofBare(sluice)}${others}`;
}

function peerRow(name: string, peer: MedianMetrics, bare: MedianMetrics): string[] {
  return [
    `  the same by ${name}`,
    "",
    whole(peer.requestsPerSecond),
    times(peer, bare, speed),
    "",
    peer.cpuMicrosPerRequest.toFixed(1),
    times(peer, bare, cpu),
    "",
    "",
    "",
  ];
}

function times(ours: MedianMetrics, theirs: MedianMetrics, pick: (figures: RoundMetrics) => number): string {
  return ratio(ours, theirs, pick).toFixed(2);
}

function facts({ memory, journal, paced, growth, content, notes }: Results): string[] {
  const lines = [
    `memory: ${megabytes(memory.idleMegabytes)} idle, ${megabytes(memory.loadedMegabytes)} loaded, ` +
      `${megabytes(memory.afterwardsMegabytes)} afterwards`,
    `journal: ${whole(journal.items)} items in ${whole(journal.batches)} batches ` +
      `(${(journal.items / Math.max(journal.batches, 1)).toFixed(1)} each), ${megabytes(journal.megabytes)} on disk`,
  ];
  lines.push(...paced.flatMap(pacedLines));
  if (growth !== null) {
    const { empty, filled, emptyStartMs, filledStartMs } = growth;
    lines.push(
      `growth: ${empty.cpuMicrosPerRequest.toFixed(1)} → ${filled.cpuMicrosPerRequest.toFixed(1)} µs CPU per request, ` +
        `${whole(empty.requestsPerSecond)} → ${whole(filled.requestsPerSecond)} req/s, ` +
        `started in ${whole(emptyStartMs)} → ${whole(filledStartMs)} ms`,
    );
  }
  if (content !== null) lines.push(...contentLines(content));
  return [...lines, ...notes];
}

export function contentLines({ json, stream }: ContentFigures): string[] {
  return [contentLine("JSON 1 KB", json), contentLine("stream", stream)];
}

function contentLine(name: string, { off, on }: ContentCell): string {
  return (
    `content recorded, chat ${name} c=32: ${off.cpuMicrosPerRequest.toFixed(1)} → ${on.cpuMicrosPerRequest.toFixed(1)} µs CPU ` +
    `(${times(on, off, cpu)}), ${whole(off.requestsPerSecond)} → ${whole(on.requestsPerSecond)} req/s`
  );
}

export function pacedLines({ pacing, sluice, bare, other }: PacedResult): string[] {
  const others = other === null ? [] : [pacedLine("  the same by the other build", other, bare)];
  return [pacedLine(pacing.name, sluice, bare), ...others];
}

function pacedLine(name: string, ours: PacedFigures, bare: PacedFigures): string {
  const [steady, bareSteady] = [ours.steadyCpuMicrosPerEvent, bare.steadyCpuMicrosPerEvent];
  const later =
    steady === null || bareSteady === null
      ? ""
      : `; from the third second on ${steady.toFixed(1)} and ${bareSteady.toFixed(1)}`;
  return (
    `${name}: ${ours.cpuMicrosPerEvent.toFixed(1)} µs CPU per relayed event ` +
    `(bare ${bare.cpuMicrosPerEvent.toFixed(1)}${later}), gaps p99 ${ours.gapP99Ms.toFixed(0)} and longest ` +
    `${ours.longestGapMs.toFixed(0)} ms (bare ${bare.gapP99Ms.toFixed(0)} and ${bare.longestGapMs.toFixed(0)}), memory ` +
    `${megabytes(ours.idleMegabytes)} → ${megabytes(ours.peakMegabytes)} → ${megabytes(ours.afterwardsMegabytes)}`
  );
}

function megabytes(value: number): string {
  return `${Math.round(value)} MB`;
}

export function barRows(bars: readonly Bar[]): string[][] {
  const word = (met: boolean | null) => (met === null ? "not measured" : met ? "met" : "MISSED");
  return [
    ["bar", "wanted", "measured", ""],
    ...bars.map((bar) => [bar.what, bar.wanted, bar.measured, word(bar.met)]),
  ];
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** Columns padded to their widest cell: words to the left, figures to the right. */
export function align(rows: readonly (readonly string[])[], leftColumns: readonly number[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => Bun.stringWidth(row[column] ?? ""))),
  );
  return rows
    .map((row) =>
      row
        .map((text, column) => {
          const padding = " ".repeat((widths[column] ?? 0) - Bun.stringWidth(text));
          return leftColumns.includes(column) ? text + padding : padding + text;
        })
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
