import type { Json } from "../../base/json.ts";
import { skipSpace } from "../json/json-bytes.ts";
import { scanObject } from "../json/json-spans.ts";

/** Nearly all servers write it first. */
const typeFirst = '{"type":"';

/** What an event says that it is; undefined if it does not. It is not parsed: the event may have a whole response in it. */
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
