import { msPerDay } from "../../base/clock.ts";

/** Google's daily quotas are renewed at midnight in California. */
const clock = new Intl.DateTimeFormat("en-US", {
  timeZone: "America/Los_Angeles",
  hourCycle: "h23",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
});

export function untilMidnightMs(nowMs: number): number {
  const parts = clock.formatToParts(nowMs);
  const figure = (type: string) => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return msPerDay - ((figure("hour") * 60 + figure("minute")) * 60 + figure("second")) * 1000;
}
