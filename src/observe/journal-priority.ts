import { fstatSync } from "node:fs";

/**
 * Whether the descriptor is the stream that systemd connected to the journal. A process whose output was redirected
 * inherits the variable too, so the stream is compared (systemd.exec(5), `$JOURNAL_STREAM`).
 */
export function isJournalStream(descriptor: number): boolean {
  const stream = process.env["JOURNAL_STREAM"];
  if (stream === undefined) return false;
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

/**
 * The prefix that the journal reads as the priority of a line, and removes. Every line begins with its level:
 * `{"level":50,`.
 */
export function priorityPrefix(line: string): string {
  switch (line.slice('{"level":'.length, line.indexOf(","))) {
    case "60":
      return "<2>";
    case "50":
      return "<3>";
    case "40":
      return "<4>";
    case "30":
      return "<6>";
    default:
      return "<7>";
  }
}
