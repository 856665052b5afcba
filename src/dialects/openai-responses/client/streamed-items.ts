import { asBuffer } from "../../../base/bytes.ts";
import { skipSpace } from "../../json/json-bytes.ts";
import { scanObject } from "../../json/json-spans.ts";
import { maxEventBytes, wholeEventsEnd } from "../../sse/frame-joiner.ts";
import { eventEnd, rawEvent } from "../../sse/raw-events.ts";
import { describeItem, memberOf, parsedValue, type TurnItem } from "./turn-items.ts";

const itemMark = Buffer.from('"response.output_item.done"');

/** The items of a response that is streamed. Some providers end it with an event that has none of them. */
export class StreamedItems {
  /** Read only when the items are requested, which is rare. Null if they are too large together. */
  events: Uint8Array[] | null;
  /** The length of all of them, kept or not. */
  bytes = 0;

  /** From events that were collected on another thread, if any. */
  constructor(events: Uint8Array[] | null = []) {
    this.events = events;
  }

  /** Takes whole events. */
  add(events: Uint8Array): void {
    const bytes = asBuffer(events);
    for (let from = 0, mark = bytes.indexOf(itemMark); mark !== -1; mark = bytes.indexOf(itemMark, from)) {
      const start = from + wholeEventsEnd(bytes.subarray(from, mark));
      from = eventEnd(bytes, start);
      this.bytes += from - start;
      // More than a last event could have in it is not collected either, and what came before is of no use then.
      if (this.bytes <= maxEventBytes) this.events?.push(new Uint8Array(bytes.subarray(start, from)));
      else this.events = null;
    }
  }

  /** In their order in the output; null if they are too large together. */
  all(): readonly TurnItem[] | null {
    if (this.events === null) return null;
    const placed = this.events.flatMap(itemIn);
    return placed.sort((one, other) => one.index - other.index).map(({ item }) => item);
  }
}

function itemIn(event: Uint8Array, position: number): readonly { index: number; item: TurnItem }[] {
  const data = Buffer.from(rawEvent(event, 0).data);
  const spans = scanObject(data, skipSpace(data, 0), ["output_index", "item"]);
  const [item, at] = ["item", "output_index"].map((name) => memberOf(spans, name));
  if (item === undefined) return [];
  const index = at === undefined ? null : parsedValue(data, at);
  return [
    {
      index: typeof index === "number" ? index : position,
      item: describeItem(data.subarray(item.valueStart, item.end)),
    },
  ];
}
