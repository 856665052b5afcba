import type { JsonObject } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage/usage.ts";
import { malformedResponse } from "../errors/failure.ts";
import type { IrEvent } from "../ir/ir.ts";
import { answerIn } from "./read-event.ts";
import type { StreamReader } from "./stream-reader.ts";

/**
 * Reads a whole answer by the events of a stream that say the same. `usage`: what is reported of all of it, if the events say only a
 * part of that. Throws why it has failed.
 */
export function readAsStream(
  reader: StreamReader,
  events: readonly (readonly [name: string, event: JsonObject])[],
  usage?: ReportedUsage | null,
): readonly IrEvent[] {
  const read = events.flatMap(([event, json]) =>
    reader.read({ event, data: "", parsed: { json, isCut: false } }),
  );
  const answer = [...answerIn(read)];
  if (!read.some((event) => event.type === "finish" || (event.type === "text_end" && event.isLast)))
    throw malformedResponse("a response without a finish reason");
  answer.push(...answerIn(reader.end()));
  const reported = answer.findLast((event) => event.type === "usage")?.usage ?? null;
  return withUsage(answer, usage === undefined ? reported : usage);
}

/** The events of a whole answer, whose usage is known from the first on. */
export function withUsage(events: readonly IrEvent[], usage: ReportedUsage | null): readonly IrEvent[] {
  return events.flatMap((event): readonly IrEvent[] => {
    if (event.type === "start") return [{ type: "start", usage }];
    if (event.type === "usage") return [];
    return event.type === "finish" && usage !== null ? [{ type: "usage", usage }, event] : [event];
  });
}
