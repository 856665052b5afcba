import type { CapView, KeyView } from "../../../admin/views.ts";
import { credits, shortCount, zonedMinute } from "../format.ts";

type Unit = KeyView["mode"];

function amountOf(value: number, mode: Unit): string {
  return mode === "credit" ? credits(value) : shortCount(value);
}

/** `5.00 credits a day for claude-*`. */
export function capWords(
  { limit, period, models }: Pick<CapView, "limit" | "period" | "models">,
  mode: Unit,
) {
  const unit = mode === "credit" ? "credits" : "tokens";
  const which = models === null ? "" : ` for ${models}`;
  return `${amountOf(limit, mode)} ${unit} a ${period}${which}`;
}

/** Nearly used up is said by its colour, and by the figures. */
function toneOf({ used, limit }: CapView): string {
  if (used >= limit) return "bad";
  return used >= limit * 0.8 ? "warn" : "info";
}

/** Each cap as a bar: how much of it is used, and when it begins anew. */
export function CapBars({ caps, mode }: { caps: readonly CapView[]; mode: Unit }) {
  if (caps.length === 0) return <span class="muted">no cap</span>;
  return (
    <ul class="caps">
      {caps.map((cap) => (
        <li key={`${cap.period} ${cap.models}`}>
          <span>
            {amountOf(cap.used, mode)} of {capWords(cap, mode)}
          </span>
          <meter
            class={toneOf(cap)}
            min={0}
            max={cap.limit || 1}
            value={cap.limit === 0 ? 1 : cap.used}
            aria-label={`Used of ${capWords(cap, mode)}`}
          />
          {cap.resets_at !== null && (
            <small class="muted">begins anew {zonedMinute(Date.parse(cap.resets_at))}</small>
          )}
        </li>
      ))}
    </ul>
  );
}
