import type { AccountView } from "../admin/accounts/schema.ts";
import type { IssuedKeyView, KeyView } from "../admin/key-terms/schema.ts";
import { modeOrigins } from "../base/key-attributes.ts";
import { ownAccountId } from "../base/own-account.ts";
import { count, plural } from "../base/text/plural.ts";
import { capText, sharedFacts, standing, valueCapText } from "./account-output.ts";
import { type ClientSettings, settingsText } from "./connect/settings-text.ts";
import { segment } from "./operations/client.ts";
import type { EnteredCall } from "./operations/operation-command.ts";
import { type Facts, facts } from "./terminal/list.ts";
import type { Style } from "./terminal/style.ts";
import { creditsShown, fromNow, type Terminal, utcMinute } from "./terminal/terminal.ts";

type KeyResponse = KeyView | IssuedKeyView;

/** The JSON of a key, with its secret if it was just issued. */
export function keyDocument(answer: KeyResponse, place: object = {}, connect: ClientSettings | null = null) {
  const { id, key, ...view } = { key: undefined, ...answer };
  const issued = key === undefined ? {} : { key };
  return { id, ...issued, ...view, ...(connect && { connect }), ...place };
}

/** Shows a key, and what was done to it, such as `created`; the secret, if there is one, before anything can fail or wait. */
export async function showKey(
  answer: KeyResponse,
  { client, terminal }: EnteredCall,
  done: string | null = null,
  connecting: () => Promise<ClientSettings | null> = async () => null,
): Promise<void> {
  const { key: secret, ...view } = { key: undefined, ...answer };
  const { style } = terminal;
  if (done !== null) terminal.print(`${style.good("✓")} ${done} ${style.bold(view.prefix)}\n`);
  if (secret !== undefined)
    terminal.print(`  ${style.bold(secret)}\n  ${style.dim("Save it now: it is not shown again.")}\n`);
  const isShared = view.account !== ownAccountId(view.id);
  const account = isShared ? await client.get<AccountView>(`/accounts${segment(view.account)}`) : null;
  terminal.print(facts(keyFacts(view, account?.label ?? null, terminal), terminal));
  const connect = await connecting();
  if (connect !== null) terminal.print(`\n${settingsText(connect, style)}`);
}

function keyFacts(view: KeyView, accountLabel: string | null, { style }: Terminal): Facts {
  const nowMs = Date.now();
  const account = accountLabel === null ? view.account : `${accountLabel}  ${style.dim(view.account)}`;
  const { previous_secret_until: until, sign_in: signIn } = view;
  return [
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
    ...view.value_caps.map((cap) => ["cap by value", valueCapText(cap, view.mode)] as const),
    ["rate", view.rpm_limit === null ? "no limit" : `${plural(view.rpm_limit, "request")} per minute`],
    ...sharedFacts(view),
    view.max_concurrent !== null && ["in flight", `at most ${count(view.max_concurrent)}`],
    ["provider scope", view.provider_scope],
    ["models", view.models === null ? "all" : view.models.join(", ")],
    view.tools && ["hosted tools", "allowed"],
    view.user_headers && ["end users", "from `server.user_headers`"],
    view.content !== null && ["content", `at most ${view.content}`],
    ["created", `${utcMinute(view.created_at)} UTC`],
    ["expires", view.expires_at === null ? "never" : absoluteAndRelative(view.expires_at, nowMs, style)],
    view.last_used_on !== undefined && ["last used", view.last_used_on ?? "never"],
    ["requests", count(view.recorded_requests)],
    ["tokens", `${count(view.input_tokens)} in, ${count(view.output_tokens)} out`],
    until !== null && ["old secret", `works until ${absoluteAndRelative(until, nowMs, style)}`],
    signIn !== null && ["ends with", `the sign-in of ${signIn}, who created it`],
  ];
}

function balanceFacts(view: KeyView, nowMs: number, style: Style): Facts {
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
  return `${utcMinute(ms)} UTC  ${style.dim(fromNow(ms, nowMs))}`;
}

export function colorStatus(status: KeyView["status"], style: Style): string {
  if (status === "active") return style.good(status);
  return status === "revoked" ? style.bad(status) : style.warn(status);
}
