/** What may be recorded of a request's content: nothing, only what did not complete, or everything. The strictest first. */
export const contentLevels = ["none", "failed", "all"] as const;
export type ContentLevel = (typeof contentLevels)[number];

/** What `[content] record` may say. */
export const recordedLevels = ["all", "failed"] as const satisfies readonly ContentLevel[];

/** The strictest of what is wanted; null wants nothing in particular. */
export function strictestContent(...wanted: readonly (ContentLevel | null)[]): ContentLevel {
  const strictness = wanted.map((level) => contentLevels.indexOf(level ?? "all"));
  return contentLevels[Math.min(...strictness)] ?? "all";
}
