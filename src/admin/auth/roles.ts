/** In ascending order: each role sees everything that the roles before it see. */
export const roles = ["member", "viewer", "admin"] as const;
export type Role = (typeof roles)[number];

/**
 * A viewer sees more than a member but changes nothing, not even what a member can. Viewers can only post to routes
 * that read.
 */
export function mayCall(role: Role, needed: Role, changes: boolean): boolean {
  if (changes && role === "viewer") return needed === "viewer";
  return roles.indexOf(role) >= roles.indexOf(needed);
}
