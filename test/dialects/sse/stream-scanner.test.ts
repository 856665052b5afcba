import { expect, test } from "bun:test";
import { type EventAction, StreamScanner } from "../../../src/dialects/sse/stream-scanner.ts";

const mark = Buffer.from('"mark"');

/** Counts how many bytes were searched for marks. */
class CountingScanner extends StreamScanner {
  readonly usage = null;
  readonly partialUsage = null;
  readonly extras = null;
  protected readonly hasAlikeEvents = false;
  searchedBytes = 0;
  marked = 0;

  protected firstMark(events: Buffer): number {
    this.searchedBytes += events.length;
    return events.indexOf(mark);
  }

  protected actionFor(): EventAction {
    this.marked += 1;
    return "forward";
  }

  protected producedBy(): string {
    return "";
  }
}

test("a read with a mark in every event is searched a few times, and not once per event", () => {
  const read = Buffer.from(`data: {"mark":1}\n\n`.repeat(2000));
  const scanner = new CountingScanner();
  expect(scanner.pass(read)).toEqual(read);
  expect(scanner.marked).toBe(2000);
  expect(scanner.searchedBytes).toBeLessThanOrEqual(3 * read.length);
});
