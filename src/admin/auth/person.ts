import { asCompared } from "../../config/admin.ts";
import type { AdminSettings } from "../../config/settings.ts";
import type { Role } from "./roles.ts";

export interface Person {
  readonly user: string;
  readonly groups: readonly string[];
}

const groupMark = "group:";

/**
 * The person's role; null if no list has them. Evaluated on every call, so that removing someone from a list takes
 * effect at the reload.
 */
export function roleOf({ user, groups }: Person, { admins, viewers, members }: AdminSettings): Role | null {
  const name = asCompared(user);
  // People can choose their name, and must not become a group by that.
  if (name.startsWith(groupMark)) return null;
  const names = new Set([name, ...groups.map((group) => `${groupMark}${asCompared(group)}`)]);
  if (admins.some((name) => names.has(name))) return "admin";
  if (viewers.some((name) => names.has(name))) return "viewer";
  const isMember = members === "everyone" || members.some((name) => names.has(name));
  return isMember ? "member" : null;
}
