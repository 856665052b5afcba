import type { IrEvent } from "../../src/dialects/ir/ir.ts";
import { StreamFindings } from "../../src/dialects/provider-response/stream-findings.ts";
import {
  passAnswer,
  type ReadEvent,
  type StreamReader,
} from "../../src/dialects/provider-response/stream-reader.ts";
import { SseDecoder } from "../../src/dialects/sse/sse.ts";

/** What a reader finds in a stream that comes in these pieces, event by event; at the end of the body, too, if that is reached. */
export function* readAll(
  reader: StreamReader,
  pieces: Iterable<Uint8Array>,
  isBodyOver = true,
): Generator<readonly ReadEvent[]> {
  const decoder = new SseDecoder();
  for (const piece of pieces) for (const frame of decoder.push(piece)) yield reader.read(frame);
  if (!isBodyOver) return;
  for (const frame of decoder.end()) yield reader.read(frame);
  yield reader.end();
}

/** What is known of a stream after these events, as if the rest were still to come. */
export function foundAfter(reader: StreamReader, events: string): StreamFindings {
  const found = new StreamFindings();
  for (const read of readAll(reader, [Buffer.from(events)], false)) found.add(read);
  return found;
}

/** The answer in a stream that is whole. Throws what is wrong with it. */
export function answerOf(reader: StreamReader, pieces: Iterable<Uint8Array>): IrEvent[] {
  return [...readAll(reader, pieces)].flatMap(answerIn);
}

/** The events of the response among these. Throws what is wrong with it. */
export function answerIn(events: readonly ReadEvent[]): IrEvent[] {
  const answer: IrEvent[] = [];
  passAnswer(events, (event) => answer.push(event));
  return answer;
}
