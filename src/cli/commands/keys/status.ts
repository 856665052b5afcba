import type { Command } from "commander";
import type { KeyRecord, StoredKeyStatus } from "../../../store/store.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { type DataOptions, newKeyCommand } from "../../help.ts";
import { auditChange, withStore } from "../../open-store.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

/** It cannot be undone, so it asks first. */
export function keysRevokeCommand(terminal: Terminal): Command {
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

export function keysStatusCommand(
  name: string,
  summary: string,
  status: StoredKeyStatus,
  terminal: Terminal,
): Command {
  return newKeyCommand(name, summary)
    .examples(`sluice keys ${name} slu_8fK2mQ0x`)
    .action(async (key: string, options: DataOptions) => setStatus(key, status, options, terminal));
}

const auditedAs: Readonly<Record<StoredKeyStatus, string>> = {
  active: "key.enable",
  disabled: "key.disable",
  suspended: "key.suspend",
  revoked: "key.revoke",
};

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
        `${terminal.noteStyle.warn("!")} it has expired; reactivate it with \`sluice keys update ${key.prefix} --expires 30d\` revives it`,
      );
    }
  });
}
