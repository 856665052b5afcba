/** Something that an operator should look at. The same list is shown, exported as metrics and, in part, sent as alerts. */
export interface Finding {
  readonly kind: FindingKind;
  readonly subject: Subject;
  /** Tells findings of one kind and subject apart, such as the caps of a key. */
  readonly part?: string;
  /** The threshold that was reached, in percent: 80, 95 or 100. Null where there are none. */
  readonly level: number | null;
  /** Null if nobody knows. */
  readonly sinceMs: number | null;
  /** One sentence. Nothing secret, and nothing that a client has sent. */
  readonly text: string;
  /** The same for programs, and as harmless. */
  readonly details: Readonly<Record<string, string | number | null>>;
  /** What a provider said last. It may quote a request, so it is shown to operators and never sent. */
  readonly lastWords: string | null;
  /** Its gateway was stopped. It is no longer shown, but a restart must not end its alert. */
  readonly isStopped?: boolean;
  /** No finding, but how one ended: its deployments have answered. It is not shown. */
  readonly hasAnswered?: boolean;
}

/** What most findings have none of. */
export const plain = { level: null, sinceMs: null, lastWords: null } as const;

export interface Subject {
  readonly type: "provider" | "key" | "account" | "model" | "store" | "node" | "ledger" | "configuration";
  readonly id: string;
  readonly label: string;
}

export type FindingKind =
  | "store_away"
  | "audit_failed"
  | "provider_unpaid"
  | "provider_refuses_key"
  | "provider_failing"
  | "provider_slow"
  | "node_late"
  | "clock_moved"
  | "clock_differs"
  | "overrun"
  | "balance"
  | "budget"
  | "cap"
  | "key_expires"
  | "used_up_soon"
  | "model_left_out"
  | "price_outdated"
  | "config_newer"
  | "content_dropped"
  | "not_listed";

/** `critical`: requests fail, or the ledger is in doubt. `warning`: they will soon, or some do. `info`: nothing is wrong yet. */
export type Severity = "critical" | "warning" | "info";

interface KindOfFinding {
  readonly severity: Severity;
  /** The command that says more, or mends it. */
  next(finding: Finding): string;
  /** It is shown and counted, but not sent when it begins and when it is over. */
  readonly isOnlyShown?: true;
  /** What it is, for the metrics and the documentation. */
  readonly about: string;
  /** The sentence that is sent when it is over. */
  over(before: Finding, nowMs: number): string;
}

const below80 = ({ subject: { type, label }, kind }: Finding) =>
  `The ${kind} of the ${type} ${label} is below 80 % again.`;
const answersAgain = ({ subject }: Finding) => `The provider ${subject.label} answers again.`;
const checkProviders = () => "sluice models check";
const showSubject = ({ subject: { type, id } }: Finding) =>
  type === "key" ? `sluice keys show ${id}` : `sluice accounts show ${id}`;
const limited = { severity: "warning", next: showSubject } as const;

/** All kinds, the most urgent first: the order in which they are listed. */
export const findingKinds: Readonly<Record<FindingKind, KindOfFinding>> = {
  store_away: {
    severity: "critical",
    next: () => "sluice store check",
    about: "The store cannot be written, so that no new work is taken.",
    over: ({ subject }) => `The store of ${subject.label} can be written again.`,
  },
  audit_failed: {
    severity: "critical",
    next: () => "sluice ledger audit",
    about: "The last audit of the ledger found differences.",
    over: () => "The audit of the ledger finds no difference any more.",
  },
  provider_unpaid: {
    severity: "critical",
    next: checkProviders,
    about: "A provider's account is not paid.",
    over: answersAgain,
  },
  provider_refuses_key: {
    severity: "critical",
    next: checkProviders,
    about: "A provider refuses the gateway's key, or there is none to send.",
    over: answersAgain,
  },
  provider_failing: {
    severity: "critical",
    next: checkProviders,
    about: "A provider fails again and again, and has not answered since.",
    over: answersAgain,
  },
  provider_slow: {
    severity: "warning",
    next: checkProviders,
    about: "A provider sends no first byte, and most clients give up.",
    over: ({ subject }) => `The provider ${subject.label} answers in time again.`,
  },
  node_late: {
    severity: "critical",
    next: () => "sluice nodes",
    about: "A gateway of a shared database gives no sign of life.",
    over: ({ subject }) => `The gateway ${subject.label} is back, or no longer expected.`,
  },
  clock_moved: {
    severity: "warning",
    next: ({ subject }) => `timedatectl status   # on ${subject.label}`,
    about: "The clock of a gateway was set by more than five minutes while it ran.",
    over: ({ subject }) => `The clock of the gateway ${subject.label} runs evenly again.`,
  },
  clock_differs: {
    severity: "warning",
    next: ({ subject }) => `timedatectl status   # on ${subject.label}`,
    about: "The clock of a gateway differs from the database's by more than a minute.",
    over: ({ subject }) => `The clock of the gateway ${subject.label} agrees with the database's again.`,
  },
  overrun: {
    severity: "warning",
    next: () => "sluice usage --by=key --since=24h",
    about: "Calls of the last 24 hours cost more than was held, and the rest was not charged.",
    over: () => "In the last 24 hours, every call was charged in full.",
  },
  balance: { ...limited, about: "80, 95 or 100 % of a balance are used.", over: below80 },
  budget: { ...limited, about: "80, 95 or 100 % of a token budget are used.", over: below80 },
  cap: { ...limited, about: "80, 95 or 100 % of a cap are used.", over: below80 },
  key_expires: {
    severity: "warning",
    next: ({ subject }) => `sluice keys update ${subject.id} --expires 30d`,
    about: "A key expires within 7 days.",
    over: ({ subject: { label }, details }, nowMs) =>
      Date.parse(String(details["expires_at"])) <= nowMs
        ? `The key ${label} has expired.`
        : `The key ${label} no longer expires within 7 days.`,
  },
  used_up_soon: {
    ...limited,
    isOnlyShown: true,
    about: "A balance or budget is used up within 7 days at this rate.",
    over: ({ subject: { label } }) => `What ${label} has left lasts longer again.`,
  },
  model_left_out: {
    severity: "warning",
    next: () => "sluice config check",
    isOnlyShown: true,
    about: "A model of the configuration is not served.",
    over: ({ subject }) => `The model ${subject.label} is served.`,
  },
  content_dropped: {
    severity: "warning",
    next: () => "sluice store size",
    about: "Content is not recorded, because the queue or the disk is full.",
    over: ({ subject }) => `The gateway ${subject.label} records all content again.`,
  },
  price_outdated: {
    severity: "info",
    next: () => "sluice models list",
    isOnlyShown: true,
    about: "A price was last compared with the provider's list more than 90 days ago.",
    over: () => "No price is older than 90 days any more.",
  },
  config_newer: {
    severity: "info",
    next: () => "sluice config reload",
    isOnlyShown: true,
    about: "The configuration on disk is not the one in force.",
    over: () => "The configuration on disk is in force.",
  },
  not_listed: {
    severity: "info",
    next: () => "sluice keys list",
    isOnlyShown: true,
    about: "There are more findings of a kind than are listed.",
    over: ({ subject }) => `All ${subject.label} are listed again.`,
  },
};

/** The keys of the table, in its order. */
export const findingKindNames = Object.keys(findingKinds) as FindingKind[];

export function kindOf({ kind }: Finding): KindOfFinding {
  return findingKinds[kind];
}

/** What is the same finding from one look to the next, and in every gateway. */
export function idOf({ kind, subject: { type, id }, part = "" }: Finding): string {
  return [kind, type, id, part].join(" ");
}

/** Nothing is wrong with what is only about to run out. */
export function severityOf(finding: Finding): Severity {
  if (finding.level === 100) return "critical";
  return finding.kind === "used_up_soon" ? "info" : kindOf(finding).severity;
}

export function isAboutProvider({ kind }: Pick<Finding, "kind">): boolean {
  return kind.startsWith("provider_");
}
