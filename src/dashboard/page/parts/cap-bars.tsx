import type { CapView, KeyView } from "../../../admin/keys/schema.ts";
import { billedUnit } from "../../../base/text/plural.ts";
import { credits, shortCount, zonedMinute } from "../format.ts";

type Unit = KeyView["mode"];

function amountOf(value: number, mode: Unit): string {
  return mode === "credit" ? credits(value) : shortCount(value);
}

/** `5.00 credits a day for claude-*`. */
export function capText({ limit, period, models }: Pick<CapView, "limit" | "period" | "models">, mode: Unit) {
  const unit = billedUnit(mode, limit);
  const modelsText = models === null ? "" : ` for ${models}`;
  return `${amountOf(limit, mode)} ${unit} per ${period}${modelsText}`;
}

/** The color shows that a cap is nearly used up, in addition to the numbers. */
function toneOf({ used, limit }: CapView): string {
  if (used >= limit) return "bad";
  return used >= limit * 0.8 ? "warn" : "info";
}

/** The reset time, and the increase until then. */
function resetText({ resets_at, raised_by }: CapView, mode: Unit): string | null {
  if (resets_at === null) return null;
  const raised = raised_by > 0 ? `raised by ${amountOf(raised_by, mode)} until then, ` : "";
  return `${raised}resets ${zonedMinute(Date.parse(resets_at))}`;
}

/** Each cap as a bar: how much is used, and when it resets. */
export function CapBars({ caps, mode }: { caps: readonly CapView[]; mode: Unit }) {
  if (caps.length === 0) return <span class="muted">no cap</span>;
  return (
    <ul class="caps stack">
      {caps.map((cap) => (
        <li key={`${cap.period} ${cap.models}`}>
          <span>
            {amountOf(cap.used, mode)} of {capText(cap, mode)}
          </span>
          <meter
            class={toneOf(cap)}
            min={0}
            max={cap.limit || 1}
            value={cap.limit === 0 ? 1 : cap.used}
            aria-label={`Used of ${capText(cap, mode)}`}
          />
          <small class="muted">{resetText(cap, mode)}</small>
        </li>
      ))}
    </ul>
  );
}

/** The caps of a key and of its account. */
export function KeyCapCards({ apiKey: { caps, account_caps, mode } }: { apiKey: KeyView }) {
  const cards = [
    { title: "Caps", bars: caps },
    { title: "The account's caps, shared by all its keys", bars: account_caps },
  ];
  return (
    <>
      {cards
        .filter(({ bars }) => bars.length > 0)
        .map(({ title, bars }) => (
          <section key={title} class="card">
            <h2>{title}</h2>
            <CapBars caps={bars} mode={mode} />
          </section>
        ))}
    </>
  );
}
