/** Which requests have their content recorded: none, only those that did not complete, or all. The strictest first. */
export const contentLevels = ["none", "failed", "all"] as const;
export type ContentLevel = (typeof contentLevels)[number];

/**
 * The level that a key and its account allow. If either is `none`, so is the result; else the key's level applies, then
 * the account's. Null: as configured.
 */
export function chosenContent(account: ContentLevel | null, key: ContentLevel | null): ContentLevel | null {
  return account === "none" ? "none" : (key ?? account);
}

/** The strictest of what is wanted; null wants nothing in particular. */
export function strictestContent(...wanted: readonly (ContentLevel | null)[]): ContentLevel {
  const strictness = wanted.map((level) => contentLevels.indexOf(level ?? "all"));
  return contentLevels[Math.min(...strictness)] ?? "all";
}
