import { withoutSecrets } from "../../base/secrets/secrets.ts";

export type FindingState = "ok" | "warning" | "problem";

/** What one check found. */
export interface Finding {
  readonly check: "config" | "folder" | "disk" | "clock" | "database" | "gateway" | "provider" | "alert";
  readonly state: FindingState;
  readonly text: string;
  /** What to do about it; null if nothing, or if the text says it. */
  readonly fix: string | null;
}

export function ok(check: Finding["check"], text: string): Finding {
  return { check, state: "ok", text, fix: null };
}

export function warning(check: Finding["check"], text: string, fix: string | null = null): Finding {
  return { check, state: "warning", text: withoutSecrets(text), fix };
}

export function problem(check: Finding["check"], text: string, fix: string | null = null): Finding {
  return { check, state: "problem", text: withoutSecrets(text), fix };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
