import { skipSpace } from "../../json/json-bytes.ts";
import { scanObject } from "../../json/json-spans.ts";
import { maxEventBytes } from "../../sse/frame-joiner.ts";
import { describeItem, memberOf, parsedValue, type TurnItem } from "./turn-items.ts";

const encoder = new TextEncoder();
const itemMark = '"response.output_item.done"';

/** The items of a streamed response. Some providers end it with an event without any items. */
export class StreamedItems {
  /** The data of events. Read only when the items are requested, which is rare. Null if they are too large together. */
  events: Uint8Array[] | null;
  /** Total length of all items, stored or not. */
  length = 0;

  /** Starts with events that were collected on another thread, if any. */
  constructor(events: Uint8Array[] | null = []) {
    this.events = events;
  }

  /** Takes the data of an event. */
  add(data: string): void {
    if (!data.includes(itemMark)) return;
    this.length += data.length;
    // More than a last event could have in it is not collected either, and what came before is of no use then.
    if (this.length <= maxEventBytes) this.events?.push(encoder.encode(data));
    else this.events = null;
  }

  /** In output order; null if they are too large together. */
  all(): readonly TurnItem[] | null {
    if (this.events === null) return null;
    const placed = this.events.flatMap(itemIn);
    return placed.sort((one, other) => one.index - other.index).map(({ item }) => item);
  }
}

function itemIn(data: Uint8Array, position: number): readonly { index: number; item: TurnItem }[] {
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
