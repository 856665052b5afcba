import type { ComponentChildren } from "preact";

export type Tone = "good" | "warn" | "bad" | "info" | "muted";

/** A word with a dot, so that the meaning does not depend on the color alone. */
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

/** Keys of a closed account are shown as disabled, with the reason. */
export function KeyStatus({ status, account }: { status: string; account?: "active" | "closed" }) {
  return (
    <>
      <Badge tone={keyTones[status] ?? "muted"}>{status}</Badge>
      {status === "disabled" && account === "closed" && <small class="muted"> account closed</small>}
    </>
  );
}

const outcomeTones: Readonly<Record<string, Tone>> = {
  completed: "good",
  cancelled: "warn",
  interrupted: "warn",
  rejected: "warn",
  failed: "bad",
};

/** The status shows how a response started, and the outcome how it ended. */
export function StatusCode({ status, outcome }: { status: number; outcome: string }) {
  const began: Tone = status < 400 ? "good" : status < 500 ? "warn" : "bad";
  const ended = outcomeTones[outcome] ?? "good";
  return <Badge tone={began === "good" ? ended : began}>{status}</Badge>;
}

export function OutcomeBadge({ outcome }: { outcome: string }) {
  return <Badge tone={outcomeTones[outcome] ?? "bad"}>{outcome}</Badge>;
}
