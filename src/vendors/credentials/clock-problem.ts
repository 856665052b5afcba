import { plural } from "../../base/text/plural.ts";

/** Tolerance: `date` headers have whole seconds, and a response takes time to arrive. */
const noticeableMs = 60_000;

/** How far this machine's clock is behind a server's, by the `date` of its response; 0 without that header. */
export function clockBehindMs(date: string | null, receivedAtMs: number): number {
  const serversMs = Date.parse(date ?? "");
  return Number.isNaN(serversMs) ? 0 : serversMs - receivedAtMs;
}

/** The problem with this machine's clock; null if it is right. */
export function clockProblem(behindMs: number): string | null {
  const offMs = Math.abs(behindMs);
  if (offMs < noticeableMs) return null;
  const minutes = Math.round(offMs / 60_000);
  return `the clock is ${plural(minutes, "minute")} off (${behindMs > 0 ? "slow" : "fast"}); correct it`;
}
