import type { ComponentChildren } from "preact";

export type Tone = "good" | "warn" | "bad" | "info" | "muted";

/** A word with a dot: colour alone never carries the meaning. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const keyTones: Readonly<Record<string, Tone>> = {
  active: "good",
  expired: "warn",
  suspended: "warn",
  disabled: "muted",
  revoked: "bad",
};

export function KeyStatus({ status }: { status: string }) {
  return <Badge tone={keyTones[status] ?? "muted"}>{status}</Badge>;
}

const outcomeTones: Readonly<Record<string, Tone>> = {
  completed: "good",
  cancelled: "warn",
  interrupted: "warn",
  refused: "warn",
  failed: "bad",
};

export function OutcomeBadge({ outcome }: { outcome: string }) {
  return <Badge tone={outcomeTones[outcome] ?? "bad"}>{outcome}</Badge>;
}

export function StatusCode({ status }: { status: number }) {
  return <Badge tone={status < 400 ? "good" : status < 500 ? "warn" : "bad"}>{status}</Badge>;
}
