import type { AcknowledgedAlert } from "../store/alert-records.ts";

/** A condition that an operator should look at. The same list is shown, exported as metrics and, in part, sent as alerts. */
export interface Alert extends Condition {
  readonly kind: AlertKind;
}

interface Condition {
  readonly kind: string;
  readonly subject: Subject;
  /** Distinguishes alerts of one kind and subject, e.g. the caps of a key. */
  readonly part?: string;
  /** The threshold that was reached, in percent: 80, 95 or 100. Null for kinds without thresholds. */
  readonly level: number | null;
  /** Null if unknown. */
  readonly sinceMs: number | null;
  /** One sentence, without secrets. The only client data that it may contain is a label's value that a cap counts. */
  readonly text: string;
  /** Facts for programs, as in the text. */
  readonly details: Readonly<Record<string, string | number | null>>;
  /** The provider's last error. It may quote a request, so it is shown to operators but never sent. */
  readonly lastError: string | null;
  /** An operator has seen it, and does not want to hear of it until then. */
  readonly acknowledged?: Pick<AcknowledgedAlert, "actor" | "untilMs">;
  /** Published by a gateway that has stopped. It is no longer shown, but a restart must not resolve it. */
  readonly isStopped?: boolean;
  /** Not an alert: these deployments have responded since. It is not shown. */
  readonly hasAnswered?: boolean;
}

/** Fields that most alerts leave unset. */
export const unsetAlertFields = { level: null, sinceMs: null, lastError: null } as const;

export interface Subject {
  readonly type:
    | "provider"
    | "key"
    | "account"
    | "model"
    | "store"
    | "node"
    | "ledger"
    | "configuration"
    | "cap";
  readonly id: string;
  readonly label: string;
}

/** `critical`: requests fail, or the ledger is in doubt. `warning`: they will soon, or some do. `info`: nothing is wrong yet. */
export type Severity = "critical" | "warning" | "info";

interface AlertKindFacts {
  readonly severity: Severity;
  /** The command that shows more, or fixes it. */
  next(alert: Condition): string;
  /** Shown and counted, but never sent to the webhook. */
  readonly isNeverSent?: true;
  /** A description for the metrics and the documentation. */
  readonly about: string;
  /** The sentence to send when the alert resolves. */
  resolvedText(before: Condition, nowMs: number): string;
}

const below80 = ({ subject: { type, label }, kind }: Condition) =>
  `${type === "cap" ? "" : type === "key" ? "Key " : "Account "}${label} is below 80% of its ${kind.replace("_threshold", "")} again.`;
const respondsAgain = ({ subject }: Condition) => `Provider ${subject.label} responds again.`;
const checkProviders = () => "sluice models check";
const showSubject = ({ subject: { type, id } }: Condition) =>
  `sluice ${type === "key" ? "keys" : type === "cap" ? "caps" : "accounts"} show ${id}`;
const limited = { severity: "warning", next: showSubject } as const;

/** All kinds, the most urgent first: the order in which they are listed. */
const kinds = {
  store_unavailable: {
    severity: "critical",
    next: () => "sluice doctor",
    about: "A gateway is not accepting requests: it cannot write to its store.",
    resolvedText: ({ subject }) => `Gateway ${subject.label} can write to its store again.`,
  },
  audit_failed: {
    severity: "critical",
    next: () => "sluice ledger audit",
    about: "The last audit of the ledger found differences.",
    resolvedText: () => "The last audit of the ledger found no differences.",
  },
  ledger_damaged: {
    severity: "critical",
    next: () => "sluice ledger audit",
    about: "The database or its log was found damaged, and charges may be missing.",
    resolvedText: ({ subject }) => `The ledger of gateway ${subject.label} was restored, or is intact again.`,
  },
  feed_stopped: {
    severity: "critical",
    next: () => "sluice ledger feed resume",
    about: "The receiver of the ledger's feed has rejected a post, so nothing is sent until you resume it.",
    resolvedText: () => "The ledger's feed is being sent again.",
  },
  provider_billing: {
    severity: "critical",
    next: checkProviders,
    about: "A provider reports a billing problem.",
    resolvedText: respondsAgain,
  },
  provider_auth: {
    severity: "critical",
    next: checkProviders,
    about: "A provider rejects the gateway's credentials, or none are configured.",
    resolvedText: respondsAgain,
  },
  provider_failing: {
    severity: "critical",
    next: checkProviders,
    about: "Calls to a provider keep failing.",
    resolvedText: respondsAgain,
  },
  model_unavailable: {
    severity: "critical",
    next: ({ subject }) => `sluice requests list --outcome failed --since 1h --model ${subject.id}`,
    about: "A model has had requests for a minute, and none succeeded.",
    resolvedText: ({ subject }) => `Requests for model ${subject.label} no longer fail.`,
  },
  provider_slow: {
    severity: "warning",
    next: checkProviders,
    about: "A provider sends no first byte, and most clients disconnect.",
    resolvedText: ({ subject }) => `Provider ${subject.label} responds in time again.`,
  },
  feed_behind: {
    severity: "warning",
    next: () => "sluice ledger feed status",
    about: "The receiver of the ledger's feed has accepted nothing for 15 minutes, and entries are waiting.",
    resolvedText: () => "The receiver of the ledger's feed accepts posts again.",
  },
  node_missing: {
    severity: "critical",
    next: () => "sluice nodes",
    about: "A gateway of a cluster has missed its heartbeat.",
    resolvedText: ({ subject }) => `Gateway ${subject.label} is back, or was removed.`,
  },
  clock_moved: {
    severity: "warning",
    next: ({ subject }) => `timedatectl status   # on ${subject.label}`,
    about: "A gateway's clock was changed by more than five minutes while it ran.",
    resolvedText: ({ subject }) => `The clock of gateway ${subject.label} is stable again.`,
  },
  clock_differs: {
    severity: "warning",
    next: ({ subject }) => `timedatectl status   # on ${subject.label}`,
    about: "A gateway's clock differs from the database's by more than a minute.",
    resolvedText: ({ subject }) => `The clock of gateway ${subject.label} agrees with the database's again.`,
  },
  overrun: {
    severity: "warning",
    next: () => "sluice usage --by=key --since=24h",
    about: "Requests in the last 24 hours cost more than was held, and the rest was not charged.",
    resolvedText: () => "Every request in the last 24 hours was charged in full.",
  },
  sign_in_lost: {
    severity: "warning",
    next: () => "sluice audit-log --search key.suspend",
    about: "Keys were suspended in the last 24 hours, because their owners can no longer sign in.",
    resolvedText: () =>
      "No key that was suspended for a lost sign-in in the last 24 hours is still suspended.",
  },
  sign_in_reused: {
    severity: "warning",
    next: () => "sluice audit-log --search sign_in.reuse",
    about:
      "A refresh token was used again in the last 24 hours, so it may have been copied. Its sign-in has ended.",
    resolvedText: () => "No refresh token was used again in the last 24 hours.",
  },
  balance_threshold: { ...limited, about: "80, 95 or 100% of a balance is used.", resolvedText: below80 },
  budget_threshold: { ...limited, about: "80, 95 or 100% of a token budget is used.", resolvedText: below80 },
  cap_threshold: {
    ...limited,
    about: "80, 95 or 100% of a cap is used, of a key, an account, or one value that a cap counts.",
    resolvedText: below80,
  },
  cap_values: {
    ...limited,
    about: "A cap counts 80, 95 or 100% of the values that it can count in a period.",
    resolvedText: ({ subject: { id } }) => `The cap ${id} counts less than 80% of its values again.`,
  },
  key_expiring: {
    severity: "warning",
    next: ({ subject }) => `sluice keys update ${subject.id} --expires 30d`,
    about: "A key expires within 7 days.",
    resolvedText: ({ subject: { label }, details }, nowMs) =>
      Date.parse(String(details["expires_at"])) <= nowMs
        ? `Key ${label} has expired.`
        : `Key ${label} no longer expires within 7 days.`,
  },
  running_out: {
    ...limited,
    isNeverSent: true,
    about: "A balance or budget will run out within 7 days at the current rate.",
    resolvedText: ({ subject: { label } }) =>
      `The balance or budget of ${label} no longer runs out within 7 days.`,
  },
  model_skipped: {
    severity: "warning",
    next: () => "sluice config check",
    isNeverSent: true,
    about: "A configured model is not served.",
    resolvedText: ({ subject }) => `Model ${subject.label} is served again.`,
  },
  content_dropped: {
    severity: "warning",
    next: () => "sluice store size",
    about: "Content is not recorded, because the queue or the disk is full.",
    resolvedText: ({ subject }) => `Gateway ${subject.label} records all content again.`,
  },
  disk_low: {
    severity: "warning",
    next: () => "sluice store size",
    about: "The disk of the data folder has less than 1 GB left, or less than was filled within a day.",
    resolvedText: ({ subject }) => `The disk of gateway ${subject.label} has enough space again.`,
  },
  traces_dropped: {
    severity: "warning",
    next: () => "sluice config show",
    about: "Traces do not reach the collector.",
    resolvedText: ({ subject }) =>
      `Traces of gateway ${subject.label} reach the collector again, or tracing was turned off.`,
  },
  batch_waiting: {
    severity: "warning",
    next: () => "sluice batches list --state open",
    about: "A batch cannot go on: it waits for credit, a cap, space or its key, or a restore has paused it.",
    resolvedText: ({ subject }) => `Batches of key ${subject.label} are running again, or have ended.`,
  },
  price_outdated: {
    severity: "info",
    next: () => "sluice models update --from FILE",
    isNeverSent: true,
    about:
      "The price of a model that is in use was last compared with the provider's list more than 90 days ago.",
    resolvedText: () => "The prices of all models in use were checked within the last 90 days.",
  },
  config_not_loaded: {
    severity: "info",
    next: () => "sluice config reload",
    isNeverSent: true,
    about: "The configuration on disk differs from the running one.",
    resolvedText: () => "The running configuration matches the one on disk.",
  },
  not_listed: {
    severity: "info",
    next: () => "sluice keys list",
    isNeverSent: true,
    about: "There are more alerts of one kind than are listed.",
    resolvedText: ({ subject }) => `All ${subject.label} are listed again.`,
  },
} satisfies Record<string, AlertKindFacts>;

export type AlertKind = keyof typeof kinds;
export const alertKinds: Readonly<Record<AlertKind, AlertKindFacts>> = kinds;

/** The keys of the table, in its order. */
export const alertKindNames = Object.keys(alertKinds) as AlertKind[];

export function kindOf({ kind }: Alert): AlertKindFacts {
  return alertKinds[kind];
}

/** Identifies an alert from one check to the next, and across gateways. */
export function idOf({ kind, subject: { type, id }, part = "" }: Alert): string {
  return [kind, type, id, part].join(" ");
}

/** A limit that is only about to run out is information. */
export function severityOf(alert: Alert): Severity {
  if (alert.level === 100) return "critical";
  return alert.kind === "running_out" ? "info" : kindOf(alert).severity;
}

export function isAboutProvider({ kind }: Pick<Alert, "kind">): boolean {
  return kind.startsWith("provider_");
}
