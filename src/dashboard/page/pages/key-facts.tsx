import type { FiguresView, KeyView } from "../../../admin/views.ts";
import { count, credits, date, shortCount } from "../format.ts";
import { keyStanding, spentWords } from "../parts/balance.tsx";
import { type Fact, FactTiles } from "../parts/fact-tiles.tsx";

/** What the spend consists of; the figures are those since the key was made. */
function spentNote(key: KeyView, figures: FiguresView | null): string {
  const unit = key.credit ? "credits" : "tokens in this period";
  if (figures === null) return unit;
  if (key.credit === null) return `${unit} · ${credits(figures.list_cost)} credits list cost in all`;
  const parts = [unit];
  if (figures.cancelled_spend > 0) parts.push(`${credits(figures.cancelled_spend)} of cancelled calls`);
  if (figures.interrupted_spend > 0) parts.push(`${credits(figures.interrupted_spend)} of interrupted calls`);
  return parts.join(" · ");
}

function endedNote(key: KeyView, figures: FiguresView | null): string {
  const tokens = `${shortCount(key.input_tokens + key.output_tokens)} tokens`;
  if (figures === null) return tokens;
  return `${tokens} · ${count(figures.failed)} failed · ${count(figures.refused)} refused`;
}

export function KeyFacts({ of: key, figures = null }: { of: KeyView; figures?: FiguresView | null }) {
  const { name, main, side } = keyStanding(key);
  const facts: readonly Fact[] = [
    [name, main, side],
    ["Spent", spentWords(key), spentNote(key, figures)],
    ["Requests", count(key.requests), endedNote(key, figures)],
    ["Limit", key.rpm_limit === null ? "none" : count(key.rpm_limit), "requests a minute"],
    ["May use", key.scope === "all" ? "all providers" : key.scope, key.models?.join(", ") ?? "all models"],
    ["Expires", key.expires_at ? date(key.expires_at) : "never", `made ${date(key.created_at)}`],
  ];
  return <FactTiles facts={facts} />;
}
