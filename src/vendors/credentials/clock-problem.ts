/** Servers tell the time to the second, and an answer may take some. */
const noticeableMs = 60_000;

/** How far this machine's clock is behind a server's, by the `date` of its answer; 0 if it does not tell the time. */
export function clockBehindMs(date: string | null, receivedAtMs: number): number {
  const serversMs = Date.parse(date ?? "");
  return Number.isNaN(serversMs) ? 0 : serversMs - receivedAtMs;
}

/** What is wrong with this machine's clock; null if it is right. */
export function clockProblem(behindMs: number): string | null {
  const offMs = Math.abs(behindMs);
  if (offMs < noticeableMs) return null;
  const minutes = Math.round(offMs / 60_000);
  const off = `${minutes} minute${minutes === 1 ? "" : "s"} off`;
  return `the clock is ${off} (${behindMs > 0 ? "slow" : "fast"}); set it right`;
}
