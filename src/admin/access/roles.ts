/** In ascending order: each role sees everything that the roles before it see. */
export const roles = ["member", "viewer", "admin"] as const;
export type Role = (typeof roles)[number];

/**
 * A viewer sees more than a member but changes nothing, not even what a member can. Viewers can only post to routes
 * that read.
 */
function mayCall(role: Role, needed: Role, changes: boolean): boolean {
  if (changes && role === "viewer") return needed === "viewer";
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/**
 * Returns the highest of the caller's roles that allows the call; null if none does. Someone who is a viewer and a
 * member reads as a viewer, and changes their own keys as a member.
 */
export function roleInCall(held: ReadonlySet<Role>, needed: Role, changes: boolean): Role | null {
  return roles.findLast((role) => held.has(role) && mayCall(role, needed, changes)) ?? null;
}

/** Callers who are only viewers cannot have keys, because they must not spend. */
export function mayHaveKeys(held: ReadonlySet<Role>): boolean {
  return held.has("member") || held.has("admin");
}
