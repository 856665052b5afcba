/** What may be recorded of a request's content: nothing, only what did not complete, or everything. The strictest first. */
export const contentLevels = ["none", "failed", "all"] as const;
export type ContentLevel = (typeof contentLevels)[number];

/**
 * What a key and its account allow: `none` of either holds; else the key decides, then the account. Null leaves it to the
 * configuration.
 */
export function chosenContent(account: ContentLevel | null, key: ContentLevel | null): ContentLevel | null {
  return account === "none" ? "none" : (key ?? account);
}

/** The strictest of what is wanted; null wants nothing in particular. */
export function strictestContent(...wanted: readonly (ContentLevel | null)[]): ContentLevel {
  const strictness = wanted.map((level) => contentLevels.indexOf(level ?? "all"));
  return contentLevels[Math.min(...strictness)] ?? "all";
}
