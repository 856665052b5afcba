import { expect, test } from "bun:test";
import { GatewayError } from "../../../src/base/errors.ts";
import type { ReadEvent, StreamReader } from "../../../src/dialects/provider-response/stream-reader.ts";
import { providerDialect, providerDialectNames } from "../../../src/dialects/registry.ts";
import { isFast } from "../../support/effort.ts";
import { type SeededRandom, seededRandom } from "../../support/random.ts";
import { readAll } from "../../support/read-stream.ts";
import { chatTarget } from "../../vendors/compatible/reading.ts";
import { readGoldens } from "../golden-file.ts";

/** The events of all recorded streams, whatever their dialect. */
const recorded = readGoldens()
  .map(({ sections }) => sections.get("provider streams") ?? "")
  .filter((stream) => stream !== "");
const events = recorded.flatMap((stream) => stream.split(/(?<=\n\n)/));
const odd = [
  ": a comment\n\n",
  "\n",
  "data: no JSON\n\n",
  "data: {\n\n",
  "data\n\n",
  "\ufeff",
  "event: error\n",
];

function newReader(name: (typeof providerDialectNames)[number]): StreamReader {
  return providerDialect(name).createStreamReader({ target: chatTarget() });
}

function found(reader: StreamReader, pieces: readonly Uint8Array[]): string {
  const all: ReadEvent[] = [...readAll(reader, pieces)].flat();
  return JSON.stringify(all, (_, value) => (value instanceof GatewayError ? value.message : value));
}

function cutAnywhere(bytes: Uint8Array, random: SeededRandom): Uint8Array[] {
  const cuts = Array.from({ length: random.below(8) }, () => random.below(bytes.length + 1)).sort(
    (a, b) => a - b,
  );
  return [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length));
}

/** A part of a recorded stream with others' events in it. */
function someStream(random: SeededRandom): string {
  const from = random.below(events.length);
  const some = events.slice(from, from + 1 + random.below(12)).map((event) => {
    if (random.chance(0.1)) return random.pick(odd) + event;
    return random.chance(0.05) ? random.pick(events) : event;
  });
  const text = some.join("");
  return random.chance(0.2) ? text.replaceAll("\n", random.pick(["\r\n", "\r"])) : text;
}

test.each(providerDialectNames)(
  "a reader of %s finds the same in a recorded stream, however it is split",
  (name) => {
    const random = seededRandom(11);
    for (const stream of recorded) {
      const bytes = Buffer.from(stream);
      const whole = found(newReader(name), [bytes]);
      for (let round = 0; round < 5; round += 1)
        expect(found(newReader(name), cutAnywhere(bytes, random)), stream).toBe(whole);
    }
  },
);

test.each(providerDialectNames)(
  "a reader of %s finds the same in any stream, however it is split",
  (name) => {
    const streams = isFast ? 400 : 4000;
    const random = seededRandom(12);
    for (let count = 0; count < streams; count += 1) {
      const stream = someStream(random);
      const bytes = Buffer.from(stream);
      expect(found(newReader(name), cutAnywhere(bytes, random)), stream).toBe(
        found(newReader(name), [bytes]),
      );
    }
  },
);

/** Blocks of the answer, which only a translation needs. */
const ofTheAnswer = new Set(["block_start", "delta", "part", "block_end", "finish"]);

test.each(providerDialectNames)(
  "what a reader of %s finds to charge does not depend on whether the stream is translated",
  (name) => {
    const random = seededRandom(13);
    for (let count = 0; count < 500; count += 1) {
      const pieces = [Buffer.from(count < recorded.length ? (recorded[count] ?? "") : someStream(random))];
      const passed = [...readAll(providerDialect(name).createStreamReader({ target: null }), pieces)];
      for (const [at, events] of [...readAll(newReader(name), pieces)].entries()) {
        // What cannot be translated fails there, and only there.
        if (events.some((event) => event.type === "unreadable" && event.text === "")) break;
        const charged = (found: readonly ReadEvent[] = []) =>
          found.filter(({ type }) => !ofTheAnswer.has(type));
        expect(charged(passed[at])).toEqual(charged(events));
      }
    }
  },
);
