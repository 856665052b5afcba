import type { Command } from "commander";
import type { KeyRecord, StoredKeyStatus } from "../../../store/store.ts";
import { balanceText } from "../../account-output.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { adjustCommand, type EnterCredit, topUpCommand } from "../../credit-commands.ts";
import { type DataOptions, group, newKeyCommand } from "../../help.ts";
import { showKey } from "../../key-output.ts";
import { auditChange, withStore } from "../../open-store.ts";
import { credits, printJson, type Terminal } from "../../terminal/terminal.ts";
import {
  keysCreateCommand,
  keysExtendCommand,
  keysMoveCommand,
  keysRotateCommand,
  keysUpdateCommand,
} from "./change.ts";
import { keysListCommand } from "./list.ts";

const auditedAs: Readonly<Record<StoredKeyStatus, string>> = {
  active: "key.enable",
  disabled: "key.disable",
  suspended: "key.suspend",
  revoked: "key.revoke",
};

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
    keysStatusCommand(
      "disable",
      "Reject a key with 403 until it is enabled again (suspend: 401)",
      "disabled",
      terminal,
    ),
    keysStatusCommand("enable", "Accept a disabled or suspended key again", "active", terminal),
    keysStatusCommand(
      "suspend",
      "Reject a key with 401 until it is enabled again (disable: 403)",
      "suspended",
      terminal,
    ),
    keysRevokeCommand(terminal),
  ]);
}

function keysShowCommand(terminal: Terminal): Command {
  return newKeyCommand("show", "Show one key with its balance and limits")
    .examples("sluice keys show slu_8fK2mQ0x")
    .action(async (name: string, options: DataOptions) => {
      const { findKey } = await import("../../../admin/keys/find-key.ts");
      await withStore(terminal, options, {}, async (context) => {
        await showKey(context, await findKey(context, name), options, terminal);
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
  async (kind, name, amountNano, options) => {
    const { enterKeyCredit, entryOf } = await import("../../../admin/accounts/enter-credit.ts");
    const { readKeySummary } = await import("../../../admin/keys/key-summary.ts");
    await withStore(terminal, options, { writes: true }, async (context) => {
      const { reference, note } = options;
      const result = await enterKeyCredit(context, name, kind, { amountNano, reference, note });
      const { key, repeated, detail } = result;
      await auditChange(context, kind === "topup" ? "key.topup" : "key.adjust", key, detail);
      const view = await readKeySummary(context, key);
      if (options.json) {
        printJson({ ...view, ...entryOf(result), ...context.place }, terminal);
        return;
      }
      const balance = view.postpaid ? balanceText(view) : `the balance is ${balanceText(view)}`;
      const amount = credits(Math.abs(amountNano));
      const done =
        kind === "topup" ? `got ${amount}` : `was adjusted by ${amountNano < 0 ? "-" : "+"}${amount}`;
      const entryName = kind === "topup" ? "top-up" : "adjustment";
      terminal.print(
        repeated
          ? `${terminal.style.warn("=")} ${key.prefix} had this ${entryName} already (${reference}); ${balance}`
          : `${terminal.style.good("✓")} ${key.prefix} ${done} credits; ${balance}`,
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
      setStatus(name, "revoked", options, terminal, async ({ prefix, label, status }) => {
        const question = `${prefix}${label === null ? "" : ` (${label})`} will be revoked permanently. Continue?`;
        if (status !== "revoked") await confirm(question, options, terminal);
      }),
    );
}

function keysStatusCommand(
  name: string,
  summary: string,
  status: StoredKeyStatus,
  terminal: Terminal,
): Command {
  return newKeyCommand(name, summary)
    .examples(`sluice keys ${name} slu_8fK2mQ0x`)
    .action(async (key: string, options: DataOptions) => setStatus(key, status, options, terminal));
}

async function setStatus(
  name: string,
  status: StoredKeyStatus,
  options: DataOptions,
  terminal: Terminal,
  ask: (key: KeyRecord) => Promise<void> = async () => {},
): Promise<void> {
  const { findKey } = await import("../../../admin/keys/find-key.ts");
  const { changeStatus } = await import("../../../admin/keys/change-key.ts");
  const { readKeySummary } = await import("../../../admin/keys/key-summary.ts");
  await withStore(terminal, options, { writes: true }, async (context) => {
    const found = await findKey(context, name);
    await ask(found);
    const { key, changed } = await changeStatus(context, found.id, status);
    if (changed) await auditChange(context, auditedAs[status], key);
    const view = await readKeySummary(context, key);
    if (options.json) {
      printJson({ ...view, changed, ...context.place }, terminal);
      return;
    }
    const { style } = terminal;
    terminal.print(
      changed
        ? `${style.good("✓")} ${key.prefix} is ${view.status}`
        : `${style.dim("=")} ${key.prefix} was ${status} already`,
    );
    if (view.status === "expired") {
      terminal.note(
        `${terminal.noteStyle.warn("!")} it has expired; set a new expiry: \`sluice keys update ${key.prefix} --expires 30d\``,
      );
    }
  });
}
