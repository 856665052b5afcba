import type { ReportedExtras } from "../../base/extra-usage.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage.ts";

/** How a dialect reads what an answer reports of its use, be it a whole answer or an event of a stream. */
export interface AnswerFigures {
  /** Null if it reports neither input nor output. */
  usageIn(answer: JsonObject): ReportedUsage | null;
  /** Its service tier, hosted tools and audio. */
  readExtras(answer: JsonObject): ReportedExtras;
}
