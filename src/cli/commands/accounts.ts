import type { Command } from "commander";
import type { AccountView, EnteredAccount } from "../../admin/accounts/schema.ts";
import type { CapsBody } from "../../admin/keys/schema.ts";
import { type BudgetPeriod, budgetPeriods, keyModes } from "../../base/key-attributes.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import { type ContentLevel, contentLevels } from "../../base/requests/content-level.ts";
import { plural } from "../../base/text/plural.ts";
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
  newOperationCommand,
  type SluiceCommand,
  withCsv,
} from "../help.ts";
import { attributesFromOptions, sharedOptions } from "../key-options.ts";
import { type OperationClient, segment } from "../operations/client.ts";
import { withOperations } from "../operations/with-operations.ts";
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
  return newOperationCommand(name, summary).argument("<account>", "its id or label");
}

function pathOf(name: string): string {
  return `/accounts${segment(name)}`;
}

const done = { create: "created", update: "updated", close: "closed" };

/** Changes an account by one operation, and shows it. */
async function changeAccount(
  terminal: Terminal,
  options: DataOptions,
  action: "create" | "update" | "close",
  change: (client: OperationClient) => Promise<AccountView>,
): Promise<void> {
  await withOperations(terminal, options, { create: action === "create", writes: true }, async (client) => {
    const account = await change(client);
    const output = { json: options.json, place: client.place };
    const { style } = terminal;
    if (!options.json) terminal.print(`${style.good("✓")} ${done[action]} ${account.label ?? account.id}\n`);
    showAccount(account, output, terminal);
  });
}

interface TermOptions extends DataOptions {
  readonly label?: string;
  readonly budget?: number | "none";
  readonly period?: BudgetPeriod;
  readonly postpaid?: boolean;
  readonly cap?: CapsBody;
  readonly keyCap?: CapsBody;
  readonly content?: ContentLevel | "default";
}

function termsOf(options: TermOptions) {
  const { label, budget, period, postpaid, cap, keyCap, content } = options;
  const { tags, tpm_limits } = attributesFromOptions(options);
  return {
    label,
    budget_tokens: budget === "none" ? null : budget,
    period,
    postpaid,
    caps: cap,
    key_caps: keyCap,
    content: content === "default" ? null : content,
    tags,
    tpm_limits,
  };
}

function createCommand(terminal: Terminal): Command {
  const command = newOperationCommand("create", "Create an account that several keys share")
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
    .addOption(
      choiceOption("content", contentLevels, "record this of request content, unless a key says otherwise"),
    )
    .examples(
      "sluice accounts create --mode credit --label atlas --credit 100 --key-cap 5/day",
      "sluice accounts create --mode credit --label acme --postpaid --cap 500/month",
    )
    .action(async (options: TermOptions & { readonly mode: KeyMode; readonly credit?: number }) => {
      const { mode, credit } = options;
      const creditBody = credit === undefined ? {} : { credit: creditsFromNano(credit) };
      await changeAccount(terminal, options, "create", (client) =>
        client.post("/accounts", { mode, ...creditBody, ...termsOf(options) }),
      );
    });
  for (const option of sharedOptions("create")) command.addOption(option);
  return command;
}

function listCommand(terminal: Terminal): Command {
  return withCsv(newOperationCommand("list", "List shared accounts"))
    .examples("sluice accounts list")
    .action(async (options: DataOptions & CsvOption) => {
      await withOperations(terminal, options, {}, async (client) => {
        const rows = await client.list<AccountView>("/accounts");
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
      await withOperations(terminal, options, {}, async (client) => {
        showAccount(await client.get<AccountView>(pathOf(name)), options, terminal);
      });
    });
}

const enterCredit =
  (terminal: Terminal): EnterCredit =>
  async (kind, name, amount, options) => {
    await withOperations(terminal, options, { writes: true }, async (client) => {
      const { reference, note } = options;
      const entered = await client.post<EnteredAccount>(`${pathOf(name)}/${kind}`, {
        amount,
        reference,
        note,
      });
      const called = entered.label ?? entered.id;
      if (entered.status === "closed" && !entered.postpaid && kind === "topup") {
        showWarnings([`${called} is closed, so no key can spend this credit`], terminal);
      }
      if (options.json) return printJson({ ...entered, ...client.place }, terminal);
      const { style } = terminal;
      terminal.print(
        entered.repeated
          ? `${style.warn("=")} ${called} already has an entry with this reference (${reference}); nothing was changed\n`
          : `${style.good("✓")} ${called}: ${amount < 0 ? "-" : "+"}${plural(Math.abs(amount), "credit", "credits", String)}\n`,
      );
      showAccount(entered, {}, terminal);
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
      choiceOption(
        "content",
        [...contentLevels, "default"],
        "record this of request content, unless a key says otherwise",
      ),
    )
    .examples("sluice accounts update atlas --cap 20/day --cap 300/month")
    .action(async (name: string, options: TermOptions) => {
      await changeAccount(terminal, options, "update", (client) =>
        client.patch(pathOf(name), termsOf(options)),
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
      await changeAccount(terminal, options, "close", async (client) => {
        const { id, label, status } = await client.get<AccountView>(pathOf(name));
        const question = `No key of ${label ?? id} will work again. Close it permanently?`;
        if (status === "active") await confirm(question, options, terminal);
        return client.post(`/accounts/${id}/close`);
      });
    });
}
