import { expect, test } from "bun:test";
import { type RawEvent, rawEvent } from "../../../src/dialects/sse/raw-events.ts";
import { type EventAction, marksOf, StreamScanner } from "../../../src/dialects/sse/stream-scanner.ts";
import { seededRandom } from "../../support/random.ts";

const marks = marksOf('"mark"');

/** Counts how many bytes were searched for marks. */
class CountingScanner extends StreamScanner {
  readonly extras = null;
  protected readonly hasFinished = false;
  searchedBytes = 0;
  marked = 0;

  protected override firstMark(events: Buffer): number {
    this.searchedBytes += events.length;
    return super.firstMark(events);
  }

  protected actionFor({ data }: RawEvent): EventAction {
    this.marked += 1;
    return data.includes("drop") ? "drop" : "forward";
  }

  protected producedBy(): string {
    return "";
  }

  protected sealedIn(): number {
    return 0;
  }

  protected endsText(): boolean {
    return false;
  }
}

test("a read with a mark in every event is searched a few times, and not once per event", () => {
  const read = Buffer.from(`data: {"mark":1}\n\n`.repeat(2000));
  const scanner = new CountingScanner(marks);
  expect(scanner.pass(read)).toEqual(read);
  expect(scanner.marked).toBe(2000);
  expect(scanner.searchedBytes).toBeLessThanOrEqual(3 * read.length);
});

test("a mark now and then is found without a search per event, wherever it is", () => {
  const random = seededRandom(20);
  for (let run = 0; run < 300; run += 1) {
    const share = 1 / (1 + random.below(40));
    const lineEnd = random.pick(["\n", "\r\n"]);
    const events = Array.from({ length: 200 }, () => {
      const member = random.chance(share) ? random.pick([`"mark":1`, `"mark":"drop"`]) : "";
      return `data: {${member}}${" ".repeat(random.below(90))}${lineEnd}${lineEnd}`;
    });
    const read = Buffer.from(events.join(""));
    const scanner = new CountingScanner(marks);
    expect(scanner.pass(read).toString()).toBe(events.filter((event) => !event.includes("drop")).join(""));
    expect(scanner.marked).toBe(events.filter((event) => event.includes("mark")).length);
    expect(scanner.searchedBytes).toBeLessThanOrEqual(6 * read.length);
  }
});

test("data in lines that end in different ways is joined", () => {
  for (const [first, second, blank] of ["\n\n\n", "\r\n\n", "\n\r\r"]) {
    const scanner = new CountingScanner(marks);
    const read = Buffer.from(`data: {"mark":${first}data: "drop"}${second}${blank}`);
    expect(rawEvent(read, 0).data).toBe('{"mark":\n"drop"}');
    expect(scanner.pass(read)).toHaveLength(0);
  }
});
