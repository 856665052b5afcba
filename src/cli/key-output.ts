import type { UpdatedKey } from "../admin/keys/change-key.ts";
import type { KeySummary } from "../admin/keys/key-summary.ts";
import { modeOrigins } from "../base/key-attributes.ts";
import { count, plural } from "../base/text/plural.ts";
import type { KeyRecord } from "../store/store.ts";
import { capText, sharedFacts, standing } from "./account-output.ts";
import { type ClientSettings, settingsText } from "./connect/settings-text.ts";
import type { DataOptions } from "./help.ts";
import { auditChange, type StoreContext, type StorePlace, withStore } from "./open-store.ts";
import { facts } from "./terminal/list.ts";
import type { Style } from "./terminal/style.ts";
import { creditsShown, fromNow, moment, printJson, type Terminal } from "./terminal/terminal.ts";

interface KeyOutput {
  readonly json?: true | undefined;
  /** The store that was written to; absent if the key was only read. */
  readonly place?: StorePlace;
  /** The secret of a new key; this is the only time it is shown. */
  readonly secret?: string | undefined;
  /** What was done to the key; absent if it was only read. */
  readonly done?: "created" | "updated" | "rotated";
  /** The settings of a client with the new key. */
  readonly connect?: ClientSettings | null | undefined;
}

type KeyChange = UpdatedKey & Pick<KeyOutput, "secret" | "connect">;

/** Changes a key, shows it, and writes the change to the audit log. */
export async function changeKey(
  terminal: Terminal,
  options: DataOptions,
  [action, done]: readonly [action: string, done: NonNullable<KeyOutput["done"]>],
  change: (context: StoreContext) => Promise<KeyChange>,
): Promise<void> {
  await withStore(terminal, options, { create: done === "created", writes: true }, async (context) => {
    const { key, detail, secret, connect } = await change(context);
    // A secret is shown before anything else can fail.
    await showKey(
      context,
      key,
      { json: options.json, place: context.place, secret, done, connect },
      terminal,
    );
    await auditChange(context, action, key, detail);
  });
}

export async function showKey(
  context: StoreContext,
  key: KeyRecord,
  output: KeyOutput,
  terminal: Terminal,
): Promise<void> {
  const { readKeySummary } = await import("../admin/keys/key-summary.ts");
  const view = await readKeySummary(context, key);
  if (output.json) {
    const { id, ...rest } = view;
    const secret = output.secret === undefined ? {} : { key: output.secret };
    const connect = output.connect ? { connect: output.connect } : {};
    printJson({ id, ...secret, ...rest, ...connect, ...output.place }, terminal);
    return;
  }
  if (output.secret !== undefined) terminal.print(secretBlock(view, output, terminal));
  else if (output.done !== undefined) {
    terminal.print(`${terminal.style.good("✓")} ${output.done} ${terminal.style.bold(view.prefix)}\n`);
  }
  const account = await context.store.findAccount(view.account);
  terminal.print(facts(keyFacts(view, account?.label ?? null, terminal), terminal));
  if (output.connect) terminal.print(`\n${settingsText(output.connect, terminal.style)}`);
}

function secretBlock(view: KeySummary, output: KeyOutput, { style }: Terminal): string {
  return [
    `${style.good("✓")} ${output.done} ${style.bold(view.prefix)}`,
    "",
    `  ${style.bold(output.secret ?? "")}`,
    `  ${style.dim("Save it now: it is not shown again.")}`,
    "",
  ].join("\n");
}

function keyFacts(
  view: KeySummary,
  accountLabel: string | null,
  { style }: Terminal,
): (readonly [string, string])[] {
  const nowMs = Date.now();
  const account = accountLabel === null ? view.account : `${accountLabel}  ${style.dim(view.account)}`;
  const list: (readonly [string, string])[] = [
    ["id", view.id],
    ["prefix", view.prefix],
    ["label", view.label ?? style.dim("–")],
    ["mode", `${view.mode}  ${style.dim(`at ${modeOrigins[view.mode]}/v1`)}`],
    ["status", colorStatus(view.status, style)],
    ["account", view.account_status === "closed" ? `${account}, which is closed` : account],
    ["owner", view.owner ?? style.dim("–")],
    ...balanceFacts(view, nowMs, style),
    ...view.caps.map((cap) => ["cap", capText(cap, view.mode)] as const),
    ...view.account_caps.map((cap) => ["account cap", capText(cap, view.mode)] as const),
    ["rate", view.rpm_limit === null ? "no limit" : `${plural(view.rpm_limit, "request")} per minute`],
    ...sharedFacts(view),
    ...(view.max_concurrent === null
      ? []
      : [["in flight", `at most ${count(view.max_concurrent)}`] as const]),
    ["provider scope", view.provider_scope],
    ["models", view.models === null ? "all" : view.models.join(", ")],
    ...(view.tools ? [["hosted tools", "allowed"] as const] : []),
    ...(view.user_headers ? [["end users", "from `server.user_headers`"] as const] : []),
    ...(view.content === null ? [] : [["content", `at most ${view.content}`] as const]),
    ["created", `${moment(Date.parse(view.created_at))} UTC`],
    ["expires", view.expires_at === null ? "never" : absoluteAndRelative(view.expires_at, nowMs, style)],
    ["last used", view.last_used_on ?? "never"],
    ["requests", count(view.recorded_requests)],
    ["tokens", `${count(view.input_tokens)} in, ${count(view.output_tokens)} out`],
  ];
  const { previous_secret_until: until, sign_in: signIn } = view;
  if (until !== null) list.push(["old secret", `works until ${absoluteAndRelative(until, nowMs, style)}`]);
  if (signIn !== null) list.push(["ends with", `the sign-in of ${signIn}, who created it`]);
  return list;
}

function balanceFacts(view: KeySummary, nowMs: number, style: Style): (readonly [string, string])[] {
  if (view.credit !== null && view.postpaid) {
    const [name, amount] = standing(view);
    return [
      [name, `${amount}  ${style.dim("postpaid")}`],
      ["spent", `${creditsShown(view.lifetime_spend)} credits by this key`],
    ];
  }
  if (view.credit !== null) {
    const { balance, used, purchased } = view.credit;
    const spent = style.dim(`${creditsShown(used)} used of ${creditsShown(purchased)}`);
    return [["balance", `${creditsShown(balance)} credits  ${spent}`]];
  }
  if (view.budget === null) return [];
  const { tokens, period, used, remaining, resets_at: resetsAt } = view.budget;
  const limit = tokens === null ? "no limit" : plural(tokens, "token");
  const per = period === "none" ? "" : ` per ${period}`;
  const left = remaining === null ? `${count(used)} used` : `${count(used)} used, ${count(remaining)} left`;
  const resets = resetsAt === null ? "" : `, resets ${fromNow(Date.parse(resetsAt), nowMs)}`;
  return [["budget", `${limit}${per}  ${style.dim(left + resets)}`]];
}

function absoluteAndRelative(iso: string, nowMs: number, style: Style): string {
  const ms = Date.parse(iso);
  return `${moment(ms)} UTC  ${style.dim(fromNow(ms, nowMs))}`;
}

export function colorStatus(status: KeySummary["status"], style: Style): string {
  if (status === "active") return style.good(status);
  return status === "revoked" ? style.bad(status) : style.warn(status);
}
