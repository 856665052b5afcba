/**
 * The admin API's answers, as they stand on the wire. The routes produce them and the dashboard reads
 * them, so a field that one side renames fails to compile on the other. Amounts are credits (a fraction
 * for people; the ledger keeps whole nano-credits), times are ISO 8601 in UTC, durations milliseconds.
 */

export type KeyStatusView = "active" | "disabled" | "suspended" | "revoked" | "expired";

export interface KeyView {
  readonly id: string;
  readonly prefix: string;
  readonly label: string | null;
  readonly mode: "credit" | "token_budget";
  readonly status: KeyStatusView;
  readonly scope: string;
  readonly models: readonly string[] | null;
  readonly rpm_limit: number | null;
  readonly budget_tokens: number | null;
  readonly period: "day" | "week" | "month" | "none";
  readonly created_at: string;
  readonly expires_at: string | null;
  /** Until when the secret before the last rotation still works. */
  readonly previous_until: string | null;
  /** Null for token-budget keys. */
  readonly credits: CreditsView | null;
  /** Null for credit keys. */
  readonly tokens: TokensView | null;
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
}

export interface CreditsView {
  readonly purchased: number;
  readonly balance: number;
  readonly reserved: number;
  readonly used: number;
  readonly today: number;
}

export interface TokensView {
  readonly used: number;
  readonly reserved: number;
  readonly remaining: number | null;
}

/** A key in a list: with what it did in each of the last 14 days, oldest first, for a spark line. */
export interface ListedKeyView extends KeyView {
  /** Credits for credit keys, tokens for token-budget keys. */
  readonly recent: readonly number[];
}

/** The only answers that ever carry a secret: a key just made, or just rotated. */
export interface IssuedKeyView extends KeyView {
  readonly key: string;
}

export interface Page<Row> {
  readonly data: readonly Row[];
  /** Pass it back as `cursor` for what follows; null at the end. */
  readonly next_cursor: string | null;
}

export interface CountedPage<Row> extends Page<Row> {
  readonly total: number;
}

export type OutcomeView = "completed" | "failed" | "cancelled" | "interrupted";

export interface ExchangeView {
  readonly id: string;
  readonly at: string;
  readonly key_id: string;
  readonly key_prefix: string;
  readonly key_label: string | null;
  readonly route: string;
  readonly model: string;
  readonly provider: string;
  readonly upstream_model: string;
  readonly stream: boolean;
  readonly outcome: OutcomeView;
  readonly status: number;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  readonly basis: "measured" | "estimated";
  readonly cost: number;
  readonly first_byte_ms: number | null;
  readonly total_ms: number;
  readonly attempts: number;
}

export interface ExchangeDetailView {
  /** Null for a cancelled or interrupted exchange: those leave ledger entries only. */
  readonly exchange: ExchangeView | null;
  readonly entries: readonly EntryView[];
}

export interface EntryView {
  readonly id: number;
  readonly at: string;
  readonly key_id: string;
  readonly key_prefix: string;
  readonly kind: "topup" | "adjustment" | "charge" | "overrun";
  /** Credits for credit keys, tokens for token-budget keys; signed as it changes the balance. */
  readonly amount: number;
  readonly unit: "credits" | "tokens";
  readonly exchange_id: string | null;
  readonly basis: "measured" | "estimated" | null;
  readonly outcome: OutcomeView | null;
  readonly reference: string | null;
  readonly note: string | null;
}

/** Sums over one slice of usage; `group` is a time, a key's id, a model or a provider. */
export interface UsageRowView {
  readonly group: string;
  /** What people call the group, where that is not the group itself: a key's label or prefix. */
  readonly name: string;
  readonly requests: number;
  readonly errors: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly spend: number;
  readonly first_byte_p50_ms: number | null;
  readonly first_byte_p95_ms: number | null;
  readonly total_p50_ms: number | null;
  readonly total_p95_ms: number | null;
}

export type UsageGrouping = "hour" | "day" | "key" | "model" | "provider";

export interface UsageView {
  readonly by: UsageGrouping;
  readonly since: string;
  readonly until: string;
  readonly data: readonly UsageRowView[];
}

export type OverviewRange = "1h" | "24h" | "7d" | "30d";

export interface SumsView {
  readonly requests: number;
  readonly errors: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly spend: number;
  readonly first_byte_p50_ms: number | null;
  readonly first_byte_p95_ms: number | null;
  readonly total_p50_ms: number | null;
  readonly total_p95_ms: number | null;
}

export interface OverviewPointView extends SumsView {
  /** Start of the step, Unix seconds. */
  readonly at: number;
}

export interface InFlightView {
  readonly id: string;
  readonly key_prefix: string;
  readonly model: string;
  readonly route: string;
  readonly stream: boolean;
  readonly age_ms: number;
}

export interface OverviewView {
  readonly range: OverviewRange;
  readonly step_seconds: number;
  readonly points: readonly OverviewPointView[];
  readonly totals: SumsView;
  /** The same length of time before, to compare with. */
  readonly before: SumsView;
  readonly top_models: readonly UsageRowView[];
  readonly top_keys: readonly UsageRowView[];
  /** How many exchanges are open now, and the oldest of them. */
  readonly in_flight: number;
  readonly oldest_in_flight: readonly InFlightView[];
}

export interface PriceView {
  /** USD per million tokens. */
  readonly input: number;
  readonly output: number;
  readonly cached_input: number;
  readonly cache_write: number;
}

export interface DeploymentView {
  readonly name: string;
  readonly provider: string;
  readonly upstream_model: string;
  readonly priority: number;
  readonly weight: number;
  readonly price: PriceView | null;
  readonly health: DeploymentHealthView;
}

export interface DeploymentHealthView {
  readonly state: "closed" | "open" | "half_open" | "cooling";
  /** Until when it is left alone, for `open` and `cooling`. */
  readonly until: string | null;
  readonly in_flight: number;
  /** Of the breaker's recent window. */
  readonly recent_attempts: number;
  readonly recent_failures: number;
}

export interface ModelView {
  readonly id: string;
  readonly display_name: string | null;
  readonly tagline: string | null;
  readonly provider: string;
  readonly public: boolean;
  readonly free: boolean;
  readonly context_window: number | null;
  readonly max_output_tokens: number | null;
  readonly price: PriceView | null;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly fallbacks: readonly string[];
  readonly deployments: readonly DeploymentView[];
}

export interface AuditView {
  readonly id: number;
  readonly at: string;
  readonly actor: string;
  readonly address: string;
  readonly action: string;
  readonly target: string | null;
  readonly detail: string | null;
}

export interface HealthView {
  readonly status: "ok" | "draining";
  readonly version: string;
  readonly uptime_seconds: number;
  readonly in_flight: number;
  readonly event_loop_lag_ms: number;
  readonly memory_bytes: number;
}

/** One line of the live tail: an exchange the moment it ended, refused ones too. */
export interface TailView {
  readonly id: string;
  readonly at: string;
  readonly key_prefix: string | null;
  readonly route: string;
  readonly model: string | null;
  readonly provider: string | null;
  readonly stream: boolean;
  readonly status: number;
  readonly error_code: string | null;
  readonly outcome: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
  readonly first_byte_ms: number | null;
  readonly total_ms: number;
  readonly attempts: number;
}

export interface SessionView {
  readonly signed_in: boolean;
}

export interface ErrorView {
  readonly error: { readonly code: string; readonly message: string; readonly param?: string };
}
