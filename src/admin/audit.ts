import type { OperationContext } from "./context.ts";

/** Who changed something, as the audit log names them, and from where. */
export interface Actor {
  readonly actor: string;
  readonly address: string;
}

export interface Change {
  readonly action: string;
  readonly target: string | null;
  readonly detail: string | null;
}

/** Writes a change to the audit log. */
export function audit({ store, clock }: OperationContext, by: Actor, change: Change): Promise<void> {
  return store.admin.appendAudit({ atMs: clock.wallMs(), ...by, ...change });
}
