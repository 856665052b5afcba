import { InvalidArgumentError } from "commander";
import { durationMs, exactMoment, isoMs, momentText, pastMoment } from "../admin/moments.ts";
import { maxRequestLimit } from "../base/key-attributes.ts";
import { maxCredits, nanoFromCredits } from "../base/money/money.ts";
import { commaInCredits, wholeFromText } from "../base/text/typed-number.ts";
import { isHost } from "../config/server.ts";

/** Parsers of command-line values. An invalid value is reported with an example; commander adds the option's name. */

function valid<Value>(value: Value | null, otherwise: string): Value {
  if (value === null) throw new InvalidArgumentError(otherwise);
  return value;
}

/** `7d`, `12h`, `30m`, `90s`, `2w` in milliseconds. */
export function duration(text: string): number {
  return valid(durationMs(text), "Use a number and a unit, such as 7d, 12h or 30m.");
}

/** A time in the future: a duration from now, or an ISO date (midnight UTC) or time. */
export function expiry(text: string, nowMs: number = Date.now()): number {
  const fromNowMs = durationMs(text);
  const atMs = fromNowMs === null ? isoMs(text) : nowMs + fromNowMs;
  const future = valid(atMs, "Use a duration such as 30d, or a date such as 2027-01-31.");
  return valid(future > nowMs ? future : null, "It must be in the future.");
}

/** A moment in the past, to the millisecond. */
export function pastTime(text: string): number {
  return valid(exactMoment(text, Date.now()), `Use ${momentText}.`);
}

/** A moment in the past, in whole minutes. */
export function since(text: string, nowMs: number = Date.now()): number {
  return valid(pastMoment(text, nowMs), `Use ${momentText}.`);
}

/** Credits as nano-credits: `5`, `0.25`. */
export function creditAmount(text: string): number {
  if (text.includes(",")) throw new InvalidArgumentError(commaInCredits);
  const nano = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? nanoFromCredits(Number(text)) : null;
  return valid(nano, `Use credits such as 5 or 0.25: at most ${maxCredits}, with at most nine decimals.`);
}

export function positiveCreditAmount(text: string): number {
  return valid(creditAmount(text) || null, "It must be above 0.");
}

/** A signed amount: `-5`, `+2.5`, `5`. */
export function signedCreditAmount(text: string): number {
  const nano = valid(creditAmount(text.replace(/^[+-]/, "")) || null, "It must not be 0.");
  return text.startsWith("-") ? -nano : nano;
}

/** An amount of credits or tokens. */
export function aboveZero(text: string): number {
  const isAmount = /^\d+(\.\d{1,9})?$/.test(text) && Number(text) > 0;
  return valid(isAmount ? Number(text) : null, "Use an amount above 0, such as 20 or 0.5.");
}

const wholeNumber =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string) => {
    const value = wholeFromText(text);
    const range =
      max === Number.MAX_SAFE_INTEGER
        ? `, ${min} or more, such as 1000000 or 1,000,000`
        : ` from ${min} to ${max}`;
    return valid(
      value === null || value < min || value > max ? null : value,
      `Must be a whole number${range}.`,
    );
  };
export const atLeastOne = wholeNumber(1);
export const requestLimit = wholeNumber(1, maxRequestLimit);
export const atLeastZero = wholeNumber(0);
export const pageSize = wholeNumber(1, 1_000);
export const valueLimit = wholeNumber(1, 10_000);

export function port(text: string): number {
  const isPort = /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
  return valid(isPort ? Number(text) : null, "Use a number from 0 to 65535; 0 picks a free port.");
}

/** An AWS region in which Bedrock offers the profiles that the built-in prices are for. */
export function region(text: string): string {
  const isCommercialRegion =
    /^[a-z]{2,4}(?:-[a-z]+)+-\d{1,2}$/.test(text) && !/^cn-|^us-(?:gov|iso)/.test(text);
  return valid(
    isCommercialRegion ? text : null,
    "Use an AWS region such as us-east-1; China and GovCloud need a file.",
  );
}

export function project(text: string): string {
  const isId = /^(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,61}[a-z0-9]$/.test(text);
  return valid(isId ? text : null, "Use a Google Cloud project id, such as my-project-123.");
}

export function host(text: string): string {
  return valid(isHost(text) ? text : null, "Use an address such as 127.0.0.1 or ::1, or a host name.");
}

/** `a,b` as a list without empty or duplicate names. */
export function nameList(text: string): readonly string[] {
  const names = [...new Set(text.split(",").map((name) => name.trim()))].filter((name) => name !== "");
  return valid(names.length === 0 ? null : names, "Use names separated by commas.");
}

/** The value of a field to be removed: null, which Commander would turn into "". */
export const removed = Symbol("removed");
