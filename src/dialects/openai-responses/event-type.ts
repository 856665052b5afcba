import type { Json } from "../../base/json.ts";
import { skipSpace } from "../json/json-bytes.ts";
import { scanObject } from "../json/json-spans.ts";

/** Nearly all servers write it first. */
const typeFirst = '{"type":"';

/** The type that an event declares; undefined if none. The event is not parsed: it may contain a whole response. */
export function eventType(event: string): Json | undefined {
  if (event.startsWith(typeFirst)) return event.slice(typeFirst.length, event.indexOf('"', typeFirst.length));
  const bytes = Buffer.from(event);
  try {
    const [member] = scanObject(bytes, skipSpace(bytes, 0), ["type"]).members;
    return member && JSON.parse(bytes.toString("utf8", member.valueStart, member.end));
  } catch {
    // Malformed, so it is nothing.
    return undefined;
  }
}
