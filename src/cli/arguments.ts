import { InvalidArgumentError } from "commander";
import { durationMs, isoMs, momentWords, pastMoment } from "../admin/operations/moments.ts";
import { maxCredits, nanoFromCredits } from "../base/money.ts";
import { commaInCredits, wholeFromText } from "../base/typed-number.ts";
import { isHost } from "../config/server.ts";

/** Parsers of command-line values. An invalid value is reported with an example; commander adds the option's name. */

/** `7d`, `12h`, `30m`, `90s`, `2w` in milliseconds. */
export function duration(text: string): number {
  const ms = durationMs(text);
  if (ms === null) throw new InvalidArgumentError("Write a number and a unit, such as 7d, 12h or 30m.");
  return ms;
}

/** A time in the future: a duration from now, or an ISO date (midnight UTC) or time. */
export function expiry(text: string, nowMs: number = Date.now()): number {
  const fromNowMs = durationMs(text);
  const atMs = fromNowMs === null ? isoMs(text) : nowMs + fromNowMs;
  if (atMs === null) {
    throw new InvalidArgumentError("Write a duration such as 30d, or a date such as 2027-01-31.");
  }
  if (atMs <= nowMs) throw new InvalidArgumentError("It lies in the past.");
  return atMs;
}

/** A moment in the past, in whole minutes. */
export function since(text: string, nowMs: number = Date.now()): number {
  const atMs = pastMoment(text, nowMs);
  if (atMs === null) throw new InvalidArgumentError(`Write ${momentWords}.`);
  return atMs;
}

/** Credits as nano-credits: `5`, `0.25`. */
export function creditAmount(text: string): number {
  if (text.includes(",")) throw new InvalidArgumentError(commaInCredits);
  const nano = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? nanoFromCredits(Number(text)) : null;
  if (nano === null) {
    throw new InvalidArgumentError(
      `Write credits such as 5 or 0.25: at most ${maxCredits}, and nine decimals.`,
    );
  }
  return nano;
}

export function positiveCreditAmount(text: string): number {
  const nano = creditAmount(text);
  if (nano === 0) throw new InvalidArgumentError("It must be above 0.");
  return nano;
}

/** A signed amount: `-5`, `+2.5`, `5`. */
export function signedCreditAmount(text: string): number {
  const nano = creditAmount(text.replace(/^[+-]/, ""));
  if (nano === 0) throw new InvalidArgumentError("It must not be 0.");
  return text.startsWith("-") ? -nano : nano;
}

const wholeNumber = (least: number) => (text: string) => {
  const value = wholeFromText(text);
  if (value === null || value < least) {
    throw new InvalidArgumentError(
      `Write a whole number of at least ${least}, such as 1000000 or 1,000,000.`,
    );
  }
  return value;
};

export const atLeastOne = wholeNumber(1);
export const atLeastZero = wholeNumber(0);

export function port(text: string): number {
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535) {
    throw new InvalidArgumentError("Write a number from 0 to 65535; 0 takes any free port.");
  }
  return value;
}

export function host(text: string): string {
  if (isHost(text)) return text;
  throw new InvalidArgumentError("Write an address such as 127.0.0.1 or ::1, or a host's name.");
}

/** `a,b` as a list without empty or duplicate names. */
export function nameList(text: string): readonly string[] {
  const names = [...new Set(text.split(",").map((name) => name.trim()))].filter((name) => name !== "");
  if (names.length === 0) throw new InvalidArgumentError("Write names with commas between them.");
  return names;
}

/** Accepts one word besides the values of `parse`. Commander turns null into "", so the word itself is returned. */
export function orWord<T, Word extends string>(
  word: Word,
  parse: (text: string) => T,
): (text: string) => T | Word {
  return (text) => (text === word ? word : parse(text));
}
