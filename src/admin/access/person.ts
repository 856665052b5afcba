import { asCompared } from "../../config/admin.ts";
import type { AdminSettings, MemberKeyTerms } from "../../config/settings.ts";
import type { Role } from "./roles.ts";

export interface Person {
  readonly user: string;
  readonly groups: readonly string[];
}

const [groupMark, roleMark] = ["group:", "role:"];

/**
 * The person's roles; empty if no list has them. Evaluated on every call, so that removing someone from a list takes
 * effect at the reload.
 */
export function rolesOf(
  { user, groups }: Person,
  { admins, viewers, members }: AdminSettings,
): ReadonlySet<Role> {
  const names = namesOf({ user, groups });
  if (names === null) return new Set();
  const isListed = (list: readonly string[]) => list.some((each) => names.has(each));
  const held = new Set<Role>();
  if (isListed(admins)) held.add("admin");
  if (isListed(viewers)) held.add("viewer");
  if (members === "everyone" || isListed(members)) held.add("member");
  return held;
}

/** A person's names as configuration lists spell them. Null for people who chose a name that reads like a group or a role. */
function namesOf({ user, groups }: Person): ReadonlySet<string> | null {
  const name = asCompared(user);
  if (name.startsWith(groupMark) || name.startsWith(roleMark)) return null;
  return new Set([name, ...groups.map((group) => `${groupMark}${asCompared(group)}`)]);
}

/** Whether a part of the configuration is for this person; null is everyone. */
export function isFor(whom: readonly string[] | null, person: Person, settings: AdminSettings): boolean {
  if (whom === null) return true;
  const names = namesOf(person);
  if (names === null) return false;
  const held = rolesOf(person, settings);
  return whom.some((each) => names.has(each) || [...held].some((role) => each === `${roleMark}${role}`));
}

/** The terms on which this person can have keys; null if they cannot. */
export function memberKeyTerms(person: Person, settings: AdminSettings): MemberKeyTerms | null {
  return settings.memberKeys.find((terms) => isFor(terms.for, person, settings)) ?? null;
}

/** Leading or trailing spaces and invisible characters could make one name pass for another, or compare as equal. */
export const unseen = /^\s|\s$|\p{C}/u;
