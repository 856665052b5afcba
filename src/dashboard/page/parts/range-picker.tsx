import { useState } from "preact/hooks";
import { query, setQuery } from "../router.ts";
import { plainChoices } from "./choose.tsx";
import { Select } from "./field.tsx";

const monthsOffered = 12;

interface RangeChoice {
  readonly text: string;
  readonly since: string;
  readonly until: string | null;
}

/** The month `offset` months from now: `2026-10`. */
export function month(offset: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)).toISOString().slice(0, 7);
}

export function monthName(monthText: string): string {
  return new Date(monthText).toLocaleDateString("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
}

function offers(): readonly RangeChoice[] {
  return [
    { text: "Last 24 hours", since: "24h", until: null },
    { text: "Last 7 days", since: "7d", until: null },
    { text: "Last 30 days", since: "30d", until: null },
    ...Array.from({ length: monthsOffered }, (_, ago) => ({
      text: monthName(month(-ago)),
      since: month(-ago),
      until: month(1 - ago),
    })),
  ];
}

/** The date and time as the browser's own field takes them, in UTC as ranges are. */
function fieldTime(text: string | null): string {
  const at = new Date(text ?? "");
  return Number.isNaN(at.getTime()) ? "" : at.toISOString().slice(0, 16);
}

function Moment({ label, name }: { label: string; name: "since" | "until" }) {
  return (
    <label class="moment line muted">
      {label} (UTC)
      <input
        type="datetime-local"
        value={fieldTime(query.value.get(name))}
        onChange={({ currentTarget: { value } }) =>
          setQuery({ [name]: value === "" ? null : new Date(`${value}Z`).toISOString(), cursor: null })
        }
      />
    </label>
  );
}

/** A month, the time up to now, or a range of one's own; it is kept in the page's address as `since` and `until`. */
export function RangePicker({ otherwise }: { otherwise: string }) {
  const [own, setOwn] = useState(false);
  const [since, until] = [query.value.get("since"), query.value.get("until")];
  const choices = offers();
  const chosen = choices.find((choice) => choice.since === since && choice.until === until);
  const isOwn = own || (chosen === undefined && (since !== null || until !== null));
  const choose = (text: string) => {
    setOwn(text === "own");
    const choice = choices.find((each) => each.text === text);
    if (text !== "own")
      setQuery({ since: choice?.since ?? null, until: choice?.until ?? null, cursor: null });
  };
  return (
    <>
      <Select
        aria-label="Time"
        state={[isOwn ? "own" : (chosen?.text ?? ""), choose]}
        choices={[
          { value: "", text: otherwise },
          ...plainChoices(choices.map(({ text }) => text)),
          { value: "own", text: "Custom range" },
        ]}
      />
      {isOwn && <Moment label="From" name="since" />}
      {isOwn && <Moment label="To" name="until" />}
    </>
  );
}
