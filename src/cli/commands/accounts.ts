import type { AccountView, EnteredAccount } from "../../admin/accounts/schema.ts";
import type { CapsBody } from "../../admin/key-terms/schema.ts";
import { keyModes } from "../../base/key-attributes.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import { balanceText, capText, showAccount } from "../account-output.ts";
import { creditAmount } from "../arguments.ts";
import { capOption } from "../cap-options.ts";
import { adjustFields, type CreditFields, topUpFields, whetherEntered } from "../credit-fields.ts";
import { argument, choiceOption, commandGroup, option, requiredOption } from "../help.ts";
import { attributeOption } from "../key-options.ts";
import { segment } from "../operations/client.ts";
import {
  type EnteredCall,
  list,
  type OperationEntry,
  operation,
  withPlace,
} from "../operations/operation-command.ts";
import { creditsShown } from "../terminal/terminal.ts";

const account = argument("<account>", "its id or label");
const keyCapHelp = "default cap of new keys; repeatable";
const contentHelp = "request content to record (default: as the configuration; keys can override it)";

/** Changes an account, and shows it. */
function change<Fields extends object>(done: string, entry: OperationEntry<AccountView, Fields>) {
  return operation<AccountView, Fields>({
    ...entry,
    document: withPlace,
    show(view, { terminal }) {
      terminal.print(`${terminal.style.good("✓")} ${done} ${view.label ?? view.id}\n`);
      showAccount(view, terminal);
    },
  });
}

/** Enters credits, and shows the account. */
function entering(entry: OperationEntry<EnteredAccount, CreditFields & { account: string }>) {
  return operation<EnteredAccount, CreditFields & { account: string }>({
    ...entry,
    unanswered: whetherEntered,
    document: withPlace,
    show: showEntered,
  });
}

function showEntered(
  entered: EnteredAccount,
  { given: { amount, reference }, terminal }: EnteredCall<CreditFields>,
): void {
  const { style } = terminal;
  const called = entered.label ?? entered.id;
  terminal.print(
    entered.repeated
      ? `${style.warn("=")} ${called} already has an entry with this reference (${reference}); nothing was changed\n`
      : `${style.good("✓")} ${called}: ${amount < 0 ? "-" : "+"}${creditsShown(Math.abs(amount))} credits\n`,
  );
  showAccount(entered, terminal);
}

/** A value as typed; the operation validates it. */
type Term = string | number | null;

interface Terms {
  readonly label?: string;
  readonly budget_tokens?: Term;
  readonly period?: Term;
  readonly postpaid?: boolean;
  readonly caps?: CapsBody;
  readonly key_caps?: CapsBody;
  readonly content?: Term;
  readonly tpm_limits?: object | null;
  readonly tags?: object | null;
}

const createCommand = change<Terms & { mode: string; credit?: number }>("created", {
  name: "create",
  summary: "Create an account that several keys share",
  call: "POST /accounts",
  fields: {
    mode: choiceOption(
      "mode",
      keyModes,
      "what its keys spend: credits or a token budget",
    ).makeOptionMandatory(),
    label: requiredOption("--label <text>", "a display name"),
    credit: option("--credit <n>", "opening balance, in credits", (text) =>
      creditsFromNano(creditAmount(text)),
    ),
    budget_tokens: attributeOption("budget_tokens", "create", "tokens per period (default: no limit)"),
    period: attributeOption("period", "create", "the budget's period (default: month)"),
    postpaid: option("--postpaid", "postpaid: no balance needed, only caps limit it"),
    caps: capOption("cap", "maximum spend of all keys together; repeatable"),
    key_caps: capOption("key-cap", keyCapHelp),
    content: attributeOption("content", "create", contentHelp),
    tpm_limits: attributeOption("tpm_limits", "create"),
    tags: attributeOption("tags", "create"),
  },
  examples: [
    "sluice accounts create --mode credit --label atlas --credit 100 --key-cap 5/day",
    "sluice accounts create --mode credit --label acme --postpaid --cap 500/month",
  ],
  creates: true,
});

const listCommand = list<AccountView>({
  name: "list",
  summary: "List shared accounts",
  call: "GET /accounts",
  examples: ["sluice accounts list"],
  columns: [
    { name: "id", title: "ACCOUNT" },
    { name: "label", title: "LABEL", elastic: true },
    { name: "mode", title: "MODE" },
    { name: "status", title: "STATUS" },
    { name: "postpaid" },
    {
      name: "balance",
      title: "BALANCE",
      align: "right",
      value: ({ credit, budget }) => credit?.balance ?? budget?.remaining,
      cell: (view) => balanceText(view),
    },
    { name: "purchased", value: ({ credit }) => credit?.purchased },
    { name: "used", value: ({ credit, budget }) => credit?.used ?? budget?.used },
    { name: "budget_tokens", value: ({ budget }) => budget?.tokens },
    { name: "keys", title: "KEYS", align: "right", value: ({ keys }) => keys.length },
    {
      name: "caps",
      title: "CAPS",
      elastic: true,
      value: ({ caps, mode }) => caps.map((cap) => capText(cap, mode)).join("; "),
    },
  ],
  nothing: "No accounts yet. Create one with `sluice accounts create --mode credit --label team`.",
});

const showCommand = operation<AccountView, { account: string }>({
  name: "show",
  summary: "Show one account with its caps and its keys",
  call: "GET /accounts/:account",
  fields: { account },
  examples: ["sluice accounts show atlas"],
  show: (view, { terminal }) => showAccount(view, terminal),
});

const topUpCommand = entering({
  name: "topup",
  summary: "Add credit to an account; on a postpaid one this lowers the amount due",
  call: "POST /accounts/:account/topup",
  fields: { account, ...topUpFields },
  examples: [["sluice accounts topup atlas 50 --reference invoice-1042", "safe to repeat"]],
  warns: ({ label, id, status, postpaid }) =>
    status === "closed" && !postpaid ? [`${label ?? id} is closed, so no key can spend this credit`] : [],
});

const adjustCommand = entering({
  name: "adjust",
  summary: "Correct an account's credit, up or down, with a ledger entry",
  call: "POST /accounts/:account/adjust",
  fields: { account, ...adjustFields },
  examples: ['sluice accounts adjust atlas -5 --note "entered twice"'],
});

const updateCommand = change<Terms & { account: string }>("updated", {
  name: "update",
  summary: "Change an account's name, budget, caps or limits",
  call: "PATCH /accounts/:account",
  fields: {
    account,
    label: option("--label <text>", "a display name"),
    budget_tokens: attributeOption("budget_tokens", "update"),
    period: attributeOption("period", "update"),
    postpaid: [
      option("--postpaid", "make it postpaid: no balance is needed"),
      option("--no-postpaid", "make it prepaid; top up the amount due first"),
    ],
    caps: capOption("cap", "replaces all its caps; repeatable"),
    key_caps: capOption("key-cap", keyCapHelp),
    content: attributeOption("content", "update", contentHelp),
    tpm_limits: attributeOption("tpm_limits", "update"),
    tags: attributeOption("tags", "update"),
  },
  examples: ["sluice accounts update atlas --cap 20/day --cap 300/month"],
});

const closeCommand = change<{ account: string }>("closed", {
  name: "close",
  summary: "Close an account: its keys are rejected, its entries stay",
  call: "POST /accounts/:account/close",
  fields: { account },
  examples: [["sluice accounts close atlas --yes", "in scripts"]],
  async asks({ given, client }) {
    const { id, label, status } = await client.get<AccountView>(`/accounts${segment(given.account)}`);
    const question = `No key of ${label ?? id} will work again. Close it permanently?`;
    return status === "active" ? question : null;
  },
});

export const accountsCommands = commandGroup(
  "accounts",
  "Let several keys share a balance or a budget, and limit what they spend",
  [createCommand, listCommand, showCommand, topUpCommand, adjustCommand, updateCommand, closeCommand],
);
