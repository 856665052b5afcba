import type { KeyRecord } from "../../store/store.ts";
import type { Person } from "./person.ts";
import type { Role } from "./roles.ts";

/** Who signed in, as stored in a session. Permissions are evaluated on every call. */
export type Identity =
  | { readonly kind: "admin" }
  | { readonly kind: "token"; readonly id: string }
  | PersonIdentity;

export interface PersonIdentity extends Person {
  readonly kind: "person";
  /** The provider that signed them in; null for a proxy, which does it again with every call. */
  readonly issuer: string | null;
}

/** A person as the store has them, written at a sign-in. */
export function personOf(stored: string): PersonIdentity {
  return JSON.parse(stored) as PersonIdentity;
}

export interface Caller {
  /** The role that allows this call, of all that the caller has. */
  readonly role: Role;
  /** The name in the audit log. */
  readonly name: string;
  /** The owner of keys that the caller creates for themselves; null if they cannot have any. */
  readonly owner: string | null;
  /** Null for tokens and keys. */
  readonly person: PersonIdentity | null;
  /** Whether it is the caller's own key, or what it did while it was. Only members are limited to these. */
  owns(key: Pick<KeyRecord, "id" | "owner">): boolean;
}
