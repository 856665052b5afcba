import type { BoundCapView, CapView, KeyView } from "../../../admin/key-terms/schema.ts";
import { billedUnit } from "../../../base/text/plural.ts";
import { credits, shortCount, zonedMinute } from "../format.ts";
import { UsedMeter } from "./used-meter.tsx";

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

/** The text of a cap, with its models in one piece where a line has room for them. */
function CapTerms({ cap, mode }: { cap: Pick<CapView, "limit" | "period" | "models">; mode: Unit }) {
  if (cap.models === null) return <>{capText(cap, mode)}</>;
  return (
    <>
      {capText({ ...cap, models: null }, mode)} for <span class="unbroken">{cap.models}</span>
    </>
  );
}

/** The reset time, and the increase until then. */
function resetText(
  { resets_at, raised_by }: Pick<CapView, "resets_at" | "raised_by">,
  mode: Unit,
): string | null {
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
            {amountOf(cap.used, mode)} used of <CapTerms cap={cap} mode={mode} />
          </span>
          <UsedMeter amount={cap.used} limit={cap.limit} label={`Used of ${capText(cap, mode)}`} />
          <small class="muted">{resetText(cap, mode)}</small>
        </li>
      ))}
    </ul>
  );
}

/** `1.20 of 5.00`, and how far that is. */
export function CapUse({ cap, mode }: { cap: Pick<CapView, "used" | "limit">; mode: Unit }) {
  const text = `${amountOf(cap.used, mode)} of ${amountOf(cap.limit, mode)}`;
  return (
    <>
      {text}
      <UsedMeter amount={cap.used} limit={cap.limit} label={`Used: ${text}`} />
    </>
  );
}

const labelTexts: Readonly<Record<string, string>> = { owner: "owner", user: "end user" };

/** `owner ada@example.com`, `each project`. */
function boundText({ label, value }: BoundCapView): string {
  const name = labelTexts[label] ?? label.replace("tag:", "");
  return value === null ? `each ${name}` : `${name} ${value}`;
}

/** Caps by owner, end user and tag. What each request names itself has no bar: its use differs. */
export function ValueCapBars({ caps, mode }: { caps: readonly BoundCapView[]; mode: Unit }) {
  return (
    <ul class="caps stack">
      {caps.map((cap) => (
        <li key={`${cap.cap} ${cap.value}`}>
          <span>
            {cap.used === null ? "" : `${amountOf(cap.used, mode)} used of `}
            <CapTerms cap={cap} mode={mode} />, {boundText(cap)}
          </span>
          {cap.used !== null && (
            <UsedMeter amount={cap.used} limit={cap.limit} label={`Used of ${capText(cap, mode)}`} />
          )}
          <small class="muted">
            {[resetText(cap, mode), cap.then && `then ${cap.then}`].filter(Boolean).join(", ")}
          </small>
        </li>
      ))}
    </ul>
  );
}

/** The caps of a key and of its account, and those by owner, end user and tag. */
export function KeyCapCards({ apiKey: { caps, account_caps, value_caps, mode } }: { apiKey: KeyView }) {
  const parts = [
    { title: "Of this key", bars: caps },
    { title: "Of the account, shared by all its keys", bars: account_caps },
  ].filter(({ bars }) => bars.length > 0);
  if (parts.length === 0 && value_caps.length === 0) return null;
  return (
    <section class="card stack">
      <h2>Caps</h2>
      <div class="cap-parts">
        {parts.map(({ title, bars }) => (
          <div key={title} class="stack">
            <h3 class="muted">{title}</h3>
            <CapBars caps={bars} mode={mode} />
          </div>
        ))}
        {value_caps.length > 0 && (
          <div class="stack">
            <h3 class="muted">By owner, end user and tag</h3>
            <ValueCapBars caps={value_caps} mode={mode} />
          </div>
        )}
      </div>
    </section>
  );
}
