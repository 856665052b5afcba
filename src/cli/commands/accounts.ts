import type { Command } from "commander";
import type { ChangedAccount } from "../../admin/accounts/accounts.ts";
import type { AccountView } from "../../admin/accounts/schema.ts";
import type { WrittenCap } from "../../admin/keys/cap-text.ts";
import { type BudgetPeriod, budgetPeriods, keyModes } from "../../base/key-attributes.ts";
import { type ContentLevel, contentLevels } from "../../base/requests/content-level.ts";
import type { KeyMode } from "../../store/store.ts";
import { balanceText, capText, showAccount } from "../account-output.ts";
import { atLeastZero, creditAmount, orWord } from "../arguments.ts";
import { capOption } from "../cap-options.ts";
import { confirm, type YesOption } from "../confirm.ts";
import { adjustCommand, type EnterCredit, topUpCommand } from "../credit-commands.ts";
import {
  type CsvOption,
  choiceOption,
  type DataOptions,
  group,
  newDataCommand,
  type SluiceCommand,
  withCsv,
} from "../help.ts";
import { attributesFromOptions, sharedOptions } from "../key-options.ts";
import { auditChange, type StoreContext, withStore } from "../open-store.ts";
import { type ListColumn, printList } from "../terminal/list.ts";
import { printJson, type Terminal } from "../terminal/terminal.ts";
import { showWarnings } from "../warnings.ts";

export function accountsCommands(terminal: Terminal): Command {
  return group("accounts", "Let several keys share a balance or a budget, and limit what they spend", [
    createCommand(terminal),
    listCommand(terminal),
    showCommand(terminal),
    accountsTopUpCommand(terminal),
    accountsAdjustCommand(terminal),
    updateCommand(terminal),
    closeCommand(terminal),
  ]);
}

function newAccountCommand(name: string, summary: string): SluiceCommand {
  return newDataCommand(name, summary).argument("<account>", "its id or label");
}

const operations = () => import("../../admin/accounts/accounts.ts");
const views = () => import("../../admin/accounts/account-view.ts");

const done = { create: "created", update: "updated", close: "closed" };

type AccountChange = Pick<ChangedAccount, "account"> & Partial<ChangedAccount>;

/** Changes an account, writes the change to the audit log, and shows the account. */
async function changeAccount(
  terminal: Terminal,
  options: DataOptions,
  action: "create" | "update" | "close",
  change: (context: StoreContext) => Promise<AccountChange>,
): Promise<void> {
  const { readAccountView } = await views();
  await withStore(terminal, options, { create: action === "create", writes: true }, async (context) => {
    const { account, detail } = await change(context);
    await auditChange(context, `account.${action}`, account, detail);
    const output = { json: options.json, place: context.place };
    const { style } = terminal;
    if (!options.json) terminal.print(`${style.good("✓")} ${done[action]} ${account.label ?? account.id}\n`);
    showAccount(await readAccountView(context, account), output, terminal);
  });
}

interface TermOptions extends DataOptions {
  readonly label?: string;
  readonly budget?: number | "none";
  readonly period?: BudgetPeriod;
  readonly postpaid?: boolean;
  readonly cap?: readonly WrittenCap[];
  readonly keyCap?: readonly WrittenCap[];
  readonly content?: ContentLevel | "default";
}

function termsOf(options: TermOptions) {
  const { label, budget, period, postpaid, cap, keyCap, content } = options;
  const { tags, tpmLimits } = attributesFromOptions(options);
  const budgetTokens = budget === "none" ? null : budget;
  return {
    label,
    budgetTokens,
    period,
    isOpen: postpaid,
    caps: cap,
    keyCaps: keyCap,
    content: content === "default" ? null : content,
    tags,
    tpmLimits,
  };
}

function createCommand(terminal: Terminal): Command {
  const command = newDataCommand("create", "Create an account that several keys share")
    .addOption(
      choiceOption("mode", keyModes, "what its keys spend: credits or a token budget").makeOptionMandatory(),
    )
    .requiredOption("--label <text>", "a display name")
    .option("--credit <n>", "opening balance, in credits", creditAmount)
    .option("--budget <n>", "tokens per period (default: no limit)", atLeastZero)
    .addOption(choiceOption("period", budgetPeriods, "the budget's period (default: month)"))
    .option("--postpaid", "postpaid: no balance needed, only caps limit it")
    .addOption(capOption("cap", "maximum spend of all keys together; repeatable"))
    .addOption(capOption("key-cap", "default cap of new keys; repeatable"))
    .addOption(choiceOption("content", contentLevels, "record at most this of request content"))
    .examples(
      "sluice accounts create --mode credit --label atlas --credit 100 --key-cap 5/day",
      "sluice accounts create --mode credit --label acme --postpaid --cap 500/month",
    )
    .action(async (options: TermOptions & { readonly mode: KeyMode; readonly credit?: number }) => {
      const { createAccount } = await operations();
      const { mode, credit: creditNano } = options;
      await changeAccount(terminal, options, "create", (context) =>
        createAccount(context, { mode, creditNano, ...termsOf(options) }),
      );
    });
  for (const option of sharedOptions("create")) command.addOption(option);
  return command;
}

function listCommand(terminal: Terminal): Command {
  return withCsv(newDataCommand("list", "List shared accounts"))
    .examples("sluice accounts list")
    .action(async (options: DataOptions & CsvOption) => {
      const { listAccountViews } = await views();
      await withStore(terminal, options, {}, async (context) => {
        const rows = await listAccountViews(context);
        const nothing =
          "No accounts yet. Create one with `sluice accounts create --mode credit --label team`.";
        printList({ rows, columns, nothing }, options, terminal);
      });
    });
}

const columns: readonly ListColumn<AccountView>[] = [
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
];

function showCommand(terminal: Terminal): Command {
  return newAccountCommand("show", "Show one account with its caps and its keys")
    .examples("sluice accounts show atlas")
    .action(async (name: string, options: DataOptions) => {
      const { readAccountView } = await views();
      const { findAccount } = await operations();
      await withStore(terminal, options, {}, async (context) => {
        showAccount(await readAccountView(context, await findAccount(context, name)), options, terminal);
      });
    });
}

const enterCredit =
  (terminal: Terminal): EnterCredit =>
  async (kind, name, amountNano, options) => {
    const { enterAccountCredit, entryOf } = await import("../../admin/accounts/enter-credit.ts");
    const { readAccountView } = await views();
    await withStore(terminal, options, { writes: true }, async (context) => {
      const { reference, note } = options;
      const result = await enterAccountCredit(context, name, kind, { amountNano, reference, note });
      const { account, detail, repeated } = result;
      await auditChange(context, kind === "topup" ? "account.topup" : "account.adjust", account, detail);
      const called = account.label ?? account.id;
      if (account.closedAtMs !== null && !account.isOpen && kind === "topup") {
        showWarnings([`${called} is closed, so no key can spend this credit`], terminal);
      }
      const view = await readAccountView(context, account);
      if (options.json) {
        printJson({ ...view, ...entryOf(result), ...context.place }, terminal);
        return;
      }
      const { style } = terminal;
      terminal.print(
        repeated
          ? `${style.warn("=")} ${called} already has an entry with this reference (${reference}); nothing was changed\n`
          : `${style.good("✓")} ${called}: ${detail}\n`,
      );
      showAccount(view, {}, terminal);
    });
  };

function accountsTopUpCommand(terminal: Terminal): Command {
  const command = newAccountCommand(
    "topup",
    "Add credit to an account; on a postpaid one this lowers the amount due",
  );
  return topUpCommand(command, enterCredit(terminal)).examples([
    "sluice accounts topup atlas 50 --reference invoice-1042",
    "safe to repeat",
  ]);
}

function accountsAdjustCommand(terminal: Terminal): Command {
  const summary = "Correct an account's credit, up or down, with a ledger entry";
  return adjustCommand(newAccountCommand("adjust", summary), enterCredit(terminal)).examples(
    'sluice accounts adjust atlas -5 --note "entered twice"',
  );
}

function updateCommand(terminal: Terminal): Command {
  const command = newAccountCommand("update", "Change an account's name, budget, caps or limits")
    .option("--label <text>", "a display name")
    .option("--budget <n|none>", "tokens per period", orWord("none", atLeastZero))
    .addOption(choiceOption("period", budgetPeriods, "the budget's period"))
    .option("--postpaid", "make it postpaid: no balance is needed")
    .option("--no-postpaid", "make it prepaid; top up the amount due first")
    .addOption(capOption("cap", "replaces all its caps; repeatable"))
    .addOption(capOption("key-cap", "default cap of new keys; repeatable"))
    .addOption(
      choiceOption("content", [...contentLevels, "default"], "record at most this of request content"),
    )
    .examples("sluice accounts update atlas --cap 20/day --cap 300/month")
    .action(async (name: string, options: TermOptions) => {
      const { updateAccount } = await operations();
      await changeAccount(terminal, options, "update", (context) =>
        updateAccount(context, name, termsOf(options)),
      );
    });
  for (const option of sharedOptions("update")) command.addOption(option);
  return command;
}

function closeCommand(terminal: Terminal): Command {
  return newAccountCommand("close", "Close an account: its keys are rejected, its entries stay")
    .option("--yes", "skip confirmation")
    .examples(["sluice accounts close atlas --yes", "in scripts"])
    .action(async (name: string, options: DataOptions & YesOption) => {
      const { closeAccount, findAccount } = await operations();
      await changeAccount(terminal, options, "close", async (context) => {
        const { id, label, closedAtMs } = await findAccount(context, name);
        const question = `No key of ${label ?? id} will work again. Close it permanently?`;
        if (closedAtMs === null) await confirm(question, options, terminal);
        return { account: await closeAccount(context, id) };
      });
    });
}
