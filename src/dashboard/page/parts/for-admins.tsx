import type { ComponentChildren } from "preact";
import { session } from "../api.ts";

/** Wraps controls that change something, which people with read access do not see. */
export function ForAdmins({ children }: { children: ComponentChildren }) {
  return session.value?.role === "admin" ? children : null;
}
