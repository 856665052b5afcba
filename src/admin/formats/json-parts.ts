import { nextLoopIteration } from "../../base/loop/pacer.ts";

/** A list with at most this many items is written at once. */
const fewItems = 100;
/** About a millisecond of JSON. */
const partLength = 65_536;

/** Whether a document has a list that takes long to write. */
export function isLong(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > fewItems || value.some(isLong);
  return typeof value === "object" && value !== null && Object.values(value).some(isLong);
}

/** Yields the output of `JSON.stringify` in parts. */
export function* jsonParts(document: unknown): Generator<string> {
  let text = "";
  for (const piece of piecesOf(document)) {
    text += piece;
    if (text.length < partLength) continue;
    yield text;
    text = "";
  }
  if (text !== "") yield text;
}

/** Long lists are written item by item; an item with a long list is split further. */
function* piecesOf(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    yield "[";
    for (const [place, item] of value.entries()) {
      if (place > 0) yield ",";
      yield* piecesOf(item);
    }
    yield "]";
  } else if (typeof value === "object" && value !== null && isLong(value)) {
    let separator = "{";
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* piecesOf(member);
      separator = ",";
    }
    yield "}";
  } else yield JSON.stringify(value) ?? "null";
}

/** Streams a document at the client's pace, one part per event-loop iteration. */
export function jsonStream(document: unknown): ReadableStream<Uint8Array> {
  const parts = jsonParts(document);
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await nextLoopIteration();
        const next = parts.next();
        if (next.done === true) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      },
    },
    { highWaterMark: 1 },
  );
}
