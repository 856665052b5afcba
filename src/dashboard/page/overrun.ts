import type { UsageTotalsView } from "../../admin/reports/schema.ts";
import { credits, shortCount } from "./format.ts";

type OverrunFigures = Pick<UsageTotalsView, "overrun" | "overrun_tokens">;

/** The tile for cost above holds, which was not charged. None if it is zero, as nearly always. */
export function overrunFacts({
  overrun,
  overrun_tokens: tokens,
}: OverrunFigures): readonly (readonly [string, string, string])[] {
  if (overrun === 0 && tokens === 0) return [];
  if (overrun === 0) return [["Overrun", shortCount(tokens), "tokens above limits, not charged"]];
  const more = tokens > 0 ? ` · ${shortCount(tokens)} budget tokens` : "";
  return [["Overrun", credits(overrun), `credits above limits, not charged${more}`]];
}
