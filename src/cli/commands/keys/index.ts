import type { Command } from "commander";
import type { EnteredKey, KeyStatusView, KeyView } from "../../../admin/keys/schema.ts";
import { balanceText } from "../../account-output.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { adjustCommand, type EnterCredit, topUpCommand } from "../../credit-commands.ts";
import { type DataOptions, group, newKeyCommand } from "../../help.ts";
import { showKey } from "../../key-output.ts";
import { segment } from "../../operations/client.ts";
import { withOperations } from "../../operations/with-operations.ts";
import { creditsShown, printJson, type Terminal } from "../../terminal/terminal.ts";
import {
  keysCreateCommand,
  keysExtendCommand,
  keysMoveCommand,
  keysRotateCommand,
  keysUpdateCommand,
} from "./change.ts";
import { keysListCommand } from "./list.ts";

export function keysCommands(terminal: Terminal): Command {
  return group("keys", "Create, fund, limit, rotate and revoke keys", [
    keysCreateCommand(terminal),
    keysListCommand(terminal),
    keysShowCommand(terminal),
    keysTopUpCommand(terminal),
    keysAdjustCommand(terminal),
    keysUpdateCommand(terminal),
    keysExtendCommand(terminal),
    keysMoveCommand(terminal),
    keysRotateCommand(terminal),
    keysStatusCommand("disable", "Reject a key with 403 until it is enabled again (suspend: 401)", terminal),
    keysStatusCommand("enable", "Accept a disabled or suspended key again", terminal),
    keysStatusCommand("suspend", "Reject a key with 401 until it is enabled again (disable: 403)", terminal),
    keysRevokeCommand(terminal),
  ]);
}

function keysShowCommand(terminal: Terminal): Command {
  return newKeyCommand("show", "Show one key with its balance and limits")
    .examples("sluice keys show slu_8fK2mQ0x")
    .action(async (name: string, options: DataOptions) => {
      await withOperations(terminal, options, {}, async (client) => {
        await showKey(client, await client.get<KeyView>(`/keys${segment(name)}`), options, terminal);
      });
    });
}

export function keysTopUpCommand(terminal: Terminal): Command {
  return topUpCommand(newKeyCommand("topup", "Add credit to a key"), enterCredit(terminal)).examples(
    "sluice keys topup slu_8fK2mQ0x 10",
    ["sluice keys topup slu_8fK2mQ0x 10 --reference invoice-1042", "safe to repeat"],
  );
}

export function keysAdjustCommand(terminal: Terminal): Command {
  const summary = "Correct a key's credit, up or down, with a ledger entry";
  return adjustCommand(newKeyCommand("adjust", summary), enterCredit(terminal)).examples(
    'sluice keys adjust slu_8fK2mQ0x -5 --note "invoice 1042 was entered twice"',
    'sluice keys adjust slu_8fK2mQ0x +2.5 --note "refund for the outage"',
  );
}

const enterCredit =
  (terminal: Terminal): EnterCredit =>
  async (kind, name, amount, options) => {
    await withOperations(terminal, options, { writes: true }, async (client) => {
      const { reference, note } = options;
      const entered = await client.post<EnteredKey>(`/keys${segment(name)}/${kind}`, {
        amount,
        reference,
        note,
      });
      if (options.json) return printJson({ ...entered, ...client.place }, terminal);
      const { prefix, repeated } = entered;
      const balance = entered.postpaid ? balanceText(entered) : `the balance is ${balanceText(entered)}`;
      const text = creditsShown(Math.abs(amount));
      const done = kind === "topup" ? `got ${text}` : `was adjusted by ${amount < 0 ? "-" : "+"}${text}`;
      const entryName = kind === "topup" ? "top-up" : "adjustment";
      terminal.print(
        repeated
          ? `${terminal.style.warn("=")} ${prefix} had this ${entryName} already (${reference}); ${balance}`
          : `${terminal.style.good("✓")} ${prefix} ${done} credits; ${balance}`,
      );
    });
  };

/** Asks for confirmation, because revoking cannot be undone. */
function keysRevokeCommand(terminal: Terminal): Command {
  return newKeyCommand("revoke", "Revoke a key permanently")
    .option("--yes", "skip confirmation")
    .examples(
      ["sluice keys revoke slu_8fK2mQ0x", "asks first"],
      ["sluice keys revoke slu_8fK2mQ0x --yes", "in scripts"],
    )
    .action(async (name: string, options: DataOptions & YesOption) =>
      setStatus(name, "revoke", options, terminal, async ({ prefix, label, status }) => {
        const question = `${prefix}${label === null ? "" : ` (${label})`} will be revoked permanently. Continue?`;
        if (status !== "revoked") await confirm(question, options, terminal);
      }),
    );
}

function keysStatusCommand(verb: StatusVerb, summary: string, terminal: Terminal): Command {
  return newKeyCommand(verb, summary)
    .examples(`sluice keys ${verb} slu_8fK2mQ0x`)
    .action(async (key: string, options: DataOptions) => setStatus(key, verb, options, terminal));
}

const statuses = { enable: "active", disable: "disabled", suspend: "suspended", revoke: "revoked" } as const;
type StatusVerb = keyof typeof statuses;

async function setStatus(
  name: string,
  verb: StatusVerb,
  options: DataOptions,
  terminal: Terminal,
  ask?: (key: KeyView) => Promise<void>,
): Promise<void> {
  await withOperations(terminal, options, { writes: true }, async (client) => {
    if (ask !== undefined) await ask(await client.get<KeyView>(`/keys${segment(name)}`));
    const { changed, ...view } = await client.post<KeyStatusView>(`/keys${segment(name)}/${verb}`);
    if (options.json) return printJson({ ...view, changed, ...client.place }, terminal);
    const { style } = terminal;
    terminal.print(
      changed
        ? `${style.good("✓")} ${view.prefix} is ${view.status}`
        : `${style.dim("=")} ${view.prefix} was ${statuses[verb]} already`,
    );
    if (view.status === "expired") {
      terminal.note(
        `${terminal.noteStyle.warn("!")} it has expired; set a new expiry: \`sluice keys update ${view.prefix} --expires 30d\``,
      );
    }
  });
}
