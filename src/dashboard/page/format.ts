import type { ExchangeView } from "../../admin/requests/schema.ts";
import { plural, shortCredits, unitsText } from "../../base/text/plural.ts";
import { type Zone, zone } from "./zone.ts";

/** Formats of numbers on the page: short, aligned, and the same everywhere. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function count(value: number): string {
  return whole.format(value);
}

/** As a title: `Model, key`. */
export function titled(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function shortCount(value: number): string {
  return value < 10_000 ? whole.format(value) : short.format(value);
}

/** `1 request`, `1.2M requests`. */
export function shortPlural(value: number, one: string): string {
  return plural(value, one, undefined, shortCount);
}

/** Credits as lists show them: `12.50`, `0.0312`, `<0.0001`. Pointing at it shows `exactCredits`. */
export function credits(value: number): string {
  return shortCredits(value, "−");
}

/** All digits, as in the ledger: for balances and single charges. */
export function exactCredits(value: number): string {
  const exact = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 9 });
  return `${value < 0 ? "−" : ""}${exact.format(Math.abs(value))}`;
}

const allDigits = new Intl.NumberFormat("en", { maximumFractionDigits: 9 });

export function exactNumber(value: number): string {
  return allDigits.format(value);
}

/** For an axis: only as many digits as distinguish the marks. */
export function axisNumber(value: number): string {
  return value >= 1000 ? shortCount(value) : allDigits.format(value);
}

/** `500 ms`, `1 s`, `2.5 s`: on an axis. */
export function axisDuration(ms: number): string {
  return ms < 1000 ? `${allDigits.format(ms)} ms` : `${allDigits.format(ms / 1000)} s`;
}

export function duration(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function percent(part: number, all: number): string {
  if (all === 0) return "0%";
  const share = (100 * part) / all;
  return `${share === 0 || share >= 10 ? share.toFixed(0) : share.toFixed(share < 0.1 ? 2 : 1)}%`;
}

/** A share computed by the server; null if it is undefined. */
export function rate(share: number | null): string {
  return percent(share ?? 0, 1);
}

/** `chat/completions`, and `chat/completions · token` on the other origin. */
export function routeName(route: string): string {
  const [, token, name] = /^(\/token)?\/v1\/(.*)$/.exec(route) ?? [];
  if (name === undefined) return route;
  return token === undefined ? name : `${name} · token`;
}

/** The change from one period to the next as text; null if there is nothing to compare with. */
export function change(now: number, before: number): string | null {
  if (before === 0) return null;
  const share = Math.round((100 * (now - before)) / before);
  if (share === 0) return "unchanged";
  return `${share > 0 ? "+" : "−"}${whole.format(Math.abs(share))}% vs. before`;
}

const hourAndMinute = { hour: "2-digit", minute: "2-digit" } as const;
const dayWithMonth = { day: "numeric", month: "short" } as const;

function formatsIn(timeZone: "UTC" | undefined) {
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat("en-GB", { ...options, ...(timeZone === undefined ? {} : { timeZone }) });
  return {
    clock: format({ ...hourAndMinute, second: "2-digit" }),
    minutes: format(hourAndMinute),
    dayOnly: format(dayWithMonth),
    dayWithYear: format({ ...dayWithMonth, year: "numeric" }),
    dayAndMinute: format({ ...dayWithMonth, ...hourAndMinute }),
    dayAndTime: format({ ...dayWithMonth, ...hourAndMinute, second: "2-digit" }),
  };
}

const formatsByZone = { UTC: formatsIn("UTC"), local: formatsIn(undefined) };

function formats() {
  return formatsByZone[zone.value];
}

/** For an axis: the hour, and the date at midnight; the same for charts of an hour and of a month. */
export function axisTime(ms: number, inZone: Zone = zone.value): string {
  const { minutes, dayOnly } = formatsByZone[inZone];
  const text = minutes.format(ms);
  return text === "00:00" ? dayOnly.format(ms) : text;
}

/** A day of a chart, in UTC as in reports. */
export function dayAndMonth(seconds: number): string {
  return formatsByZone.UTC.dayOnly.format(seconds * 1000);
}

/** An hour of a chart in UTC; at midnight the day. */
export function timeOfStep(seconds: number): string {
  return axisTime(seconds * 1000, "UTC");
}

/** A date and time with the zone. */
export function zonedMinute(ms: number): string {
  return `${formats().dayAndMinute.format(ms)} ${zoneWord(ms)}`;
}

/** `UTC`, or the name of the person's own zone on that day, such as `GMT-8`. */
export function zoneWord(ms: number): string {
  if (zone.value === "UTC") return "UTC";
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(ms);
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? "local";
}

/** `15 Nov, 13:28 to 16 Nov, 13:28 UTC`. */
export function timeRange(since: string, until: string): string {
  return `${formats().dayAndMinute.format(new Date(since))} to ${zonedMinute(Date.parse(until))}`;
}

export function time(iso: string): string {
  return formats().clock.format(new Date(iso));
}

/** A day of reports and budgets, which is always UTC. */
export function date(iso: string): string {
  return formatsByZone.UTC.dayWithYear.format(new Date(iso));
}

/** The time of day today, with the date before that. */
export function moment(iso: string): string {
  const { clock, dayWithYear, dayAndTime } = formats();
  const at = new Date(iso);
  const isToday = dayWithYear.format(new Date()) === dayWithYear.format(at);
  return (isToday ? clock : dayAndTime).format(at);
}

/** The metered usage: `1.2K → 56` tokens, or other units. */
export function metered(input: number, output: number, units: ExchangeView["units"] = null): string {
  if (input + output > 0) return `${shortCount(input)} → ${shortCount(output)}`;
  return units === null ? "–" : shortUnits(units);
}

/** `2 images`, `0.35 minutes`, `20K search units`. */
export function shortUnits(units: NonNullable<ExchangeView["units"]>): string {
  return unitsText(units, (amount) =>
    amount < 10 ? String(Number(amount.toPrecision(2))) : shortCount(amount),
  );
}

export function uptime(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

/** USD per million tokens, with all digits, because a rounded price is wrong. */
export function price(usd: number): string {
  const exact = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 6 });
  return `$${exact.format(usd)}`;
}
