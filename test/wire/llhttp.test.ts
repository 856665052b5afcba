import { describe, expect, test } from "bun:test";
import { byteByByte, everyCut } from "./cuts.ts";
import { type Expected, llhttpCases } from "./llhttp-cases.ts";
import { type ReadResponse, readPieces } from "./reading.ts";

function expectation(expected: Exclude<Expected, "refused">): Partial<ReadResponse> {
  if (expected === "incomplete") return { isComplete: false, endsWithConnection: false };
  const statuses = [expected.status ?? 200];
  if ("untilClose" in expected) return { statuses, body: expected.untilClose, endsWithConnection: true };
  return { statuses, body: expected.body, isComplete: true };
}

for (const [group, cases] of Object.entries(llhttpCases)) {
  describe(`llhttp's cases: ${group}`, () => {
    for (const { what, answer, expected, why } of cases) {
      test(why === undefined ? what : `${what} (${why})`, () => {
        const bytes = Buffer.from(answer, "latin1");
        const cuts = [[Buffer.from(bytes)], byteByByte(bytes)];
        if (expected === "refused") {
          for (const pieces of [...cuts, ...everyCut(bytes)]) {
            expect(() => readPieces(pieces)).toThrow("not valid HTTP");
          }
          return;
        }
        const read = readPieces([Buffer.from(bytes)]);
        expect(read).toMatchObject(expectation(expected));
        if (read.isComplete)
          expect(read.isReusable).toBe(!(typeof expected === "object" && "spoilt" in expected));
        // With surplus bytes, the result depends on how many of them have arrived.
        if (typeof expected === "object" && "spoilt" in expected) return;
        for (const pieces of [...cuts, ...everyCut(bytes)]) {
          expect(readPieces(pieces)).toMatchObject(expectation(expected));
        }
      });
    }
  });
}
