import { matchesModel } from "../../base/models/model-pattern.ts";
import { unaffordableNano } from "../../base/money/money.ts";
import { ownAccountId } from "../../base/own-account.ts";
import type { KeyMode, ListedExchange } from "../../store/store.ts";
import { capName } from "../keys/cap-text.ts";
import type { KeySummary } from "../keys/key-summary.ts";
import type { CapView } from "../keys/schema.ts";

type DeniedExchange = Pick<ListedExchange, "exchangeId" | "model" | "needed">;

/**
 * What lets a request through that a limit has denied: a command for each limit that leaves too little for it now, since the
 * client is told about one of them only.
 */
export function limitAdvice(exchange: DeniedExchange, key: KeySummary): string {
  const needed = exchange.needed ?? 1;
  if (needed >= unaffordableNano) return "No balance is large enough; lower `max_tokens`.";
  const commands = commandsFor(key, { ...exchange, needed });
  if (commands.length === 0) return "The limits now allow it: retry.";
  return `To let it through: ${commands.map((each) => `\`${each}\``).join(" and ")}. A lower \`max_tokens\` needs less.`;
}

function commandsFor(key: KeySummary, denied: DeniedExchange & { readonly needed: number }): string[] {
  const { needed, model, exchangeId } = denied;
  const unit = unitOf(key.mode);
  const lacks = (cap: CapView) => matchesModel(cap.models, model) && missing(cap, needed, unit) > 0;
  const ofKey = key.caps.filter(lacks).map((cap) => {
    const amount = shown(missing(cap, needed, unit), key.mode);
    return `sluice keys raise-cap ${key.prefix} ${amount} --cap ${quoted(capName(cap))} --note ${exchangeId}`;
  });
  return [...ofFunds(key, needed), ...raisedAccountCaps(key, needed, lacks), ...ofKey];
}

/** Nano-credits for each credit of a view; tokens are shown as they are. */
function unitOf(mode: KeyMode): number {
  return mode === "credit" ? 1e9 : 1;
}

function missing({ used, limit }: Pick<CapView, "used" | "limit">, needed: number, unit: number): number {
  return needed + Math.round((used - limit) * unit);
}

/** The balance or the budget, of the key's own account or of one that it shares. */
function ofFunds(key: KeySummary, needed: number): string[] {
  const { credit, budget, mode } = key;
  const isOwn = key.account === ownAccountId(key.id);
  const [noun, name] = isOwn ? ["keys", key.prefix] : ["accounts", key.account];
  if (credit !== null) {
    const lacking = needed - Math.round(credit.balance * 1e9);
    return key.postpaid || lacking <= 0 ? [] : [`sluice ${noun} topup ${name} ${shown(lacking, mode)}`];
  }
  if (budget === null || budget.tokens === null || budget.used + needed <= budget.tokens) return [];
  return [`sluice ${noun} update ${name} --budget ${budget.used + needed}`];
}

/** One command sets all caps of an account. */
function raisedAccountCaps(key: KeySummary, needed: number, lacks: (cap: CapView) => boolean): string[] {
  const { account, account_caps: caps, mode } = key;
  if (!caps.some(lacks)) return [];
  const unit = unitOf(mode);
  const options = caps.map((cap) => {
    const kept = (cap.limit - cap.raised_by).toFixed(9).replace(/\.?0+$/, "");
    const amount = lacks(cap) ? shown(Math.round(cap.used * unit) + needed, mode) : kept;
    return `--cap ${quoted(`${amount}/${capName(cap)}`)}`;
  });
  return [`sluice accounts update ${account} ${options.join(" ")}`];
}

/** Tokens, or credits rounded up to four decimals. */
function shown(amount: number, mode: KeyMode): string {
  if (mode !== "credit") return String(amount);
  return (Math.ceil(amount / 100_000) / 10_000).toFixed(4).replace(/\.?0+$/, "");
}

function quoted(text: string): string {
  return text.includes("*") ? `'${text}'` : text;
}
