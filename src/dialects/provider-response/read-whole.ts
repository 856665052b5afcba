import type { JsonObject } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage/usage.ts";
import { malformedResponse } from "../errors/failure.ts";
import type { IrEvent } from "../ir/ir.ts";
import { passAnswer, type StreamReader } from "./stream-reader.ts";

/**
 * Reads a non-streaming response as the equivalent events of a stream. `usage`: the usage of all of it, if the events
 * report only a part. Throws the reason if it has failed.
 */
export function readAsStream(
  reader: StreamReader,
  events: readonly (readonly [name: string, event: JsonObject])[],
  usage?: ReportedUsage | null,
): readonly IrEvent[] {
  const read = events.flatMap(([event, json]) =>
    reader.read({ event, data: "", parsed: { json, isCut: false } }),
  );
  const answer: IrEvent[] = [];
  passAnswer(read, (event) => answer.push(event));
  if (!read.some((event) => event.type === "finish" || (event.type === "text_end" && event.isLast)))
    throw malformedResponse("a response without a finish reason");
  passAnswer(reader.end(), (event) => answer.push(event));
  const reported = answer.findLast((event) => event.type === "usage")?.usage ?? null;
  return withUsage(answer, usage === undefined ? reported : usage);
}

/** The events of a non-streaming response, whose usage is known from the start. */
export function withUsage(events: readonly IrEvent[], usage: ReportedUsage | null): readonly IrEvent[] {
  return events.flatMap((event): readonly IrEvent[] => {
    if (event.type === "start") return [{ type: "start", usage }];
    if (event.type === "usage") return [];
    return event.type === "finish" && usage !== null ? [{ type: "usage", usage }, event] : [event];
  });
}
