import type { ComponentChildren } from "preact";
import { session } from "../api.ts";

/** Around whatever changes something: people who may only look are not offered what would be refused. */
export function ForAdmins({ children }: { children: ComponentChildren }) {
  return session.value?.role === "admin" ? children : null;
}
