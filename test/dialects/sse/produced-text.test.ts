import { expect, spyOn, test } from "bun:test";
import { ChatScanner } from "../../../src/dialects/openai-chat/provider/stream-scanner.ts";
import { ProducedText } from "../../../src/dialects/sse/produced-text.ts";
import { type EventPattern, RepeatedRun } from "../../../src/dialects/sse/repeated-run.ts";

const pattern: EventPattern = {
  opening: '"',
  values: [{ kind: "text", before: "" }],
  closing: '"\n\n',
  closingToNext: '"\n\n"',
  sequenceNumber: null,
};

test("events that each came in a read of their own are read before they take much more memory than their text", () => {
  let read = 0;
  class CountedRun extends RepeatedRun {
    override get text(): string {
      read += 1;
      return super.text;
    }
  }
  const produced = new ProducedText();
  // An object and a string for each: 170 bytes in all, of which few are characters.
  for (let run = 0; run < 600; run += 1) {
    const event = `"${run % 10}"\n\n`;
    produced.addRun(new CountedRun(pattern, event, 0, event.length, 1));
  }
  expect(read).toBeGreaterThan(300);
  expect(produced.length).toBe(600);
  expect(produced.take()).toBe("0123456789".repeat(60));
});

test("text that comes in events of changing form is not copied again for each change", () => {
  const event = (id: string) =>
    `data: {"id":"${id}","choices":[{"index":0,"delta":{"content":"12345678901234567890"}}]}\n\n`;
  const events = Buffer.from((event("a").repeat(2) + event("b").repeat(2)).repeat(1000));
  const scanner = new ChatScanner({ hideUsage: false });
  const flatten = spyOn(Buffer, "byteLength");
  scanner.pass(events);
  const times = flatten.mock.calls.length;
  flatten.mockRestore();
  expect(scanner.producedChars).toBe(80_000);
  // Each copies all of the text: once for some 512 characters, and not for each of the 2000 changes.
  expect(times).toBeLessThan(200);
});
