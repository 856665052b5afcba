/** Google's daily quotas are renewed at midnight in California. */
const clock = new Intl.DateTimeFormat("en-US", {
  timeZone: "America/Los_Angeles",
  hourCycle: "h23",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
});

const dayMs = 86_400_000;

export function untilMidnightMs(nowMs: number): number {
  const parts = clock.formatToParts(nowMs);
  const figure = (type: string) => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return dayMs - ((figure("hour") * 60 + figure("minute")) * 60 + figure("second")) * 1000;
}
